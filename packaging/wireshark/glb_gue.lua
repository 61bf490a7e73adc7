-- SPDX-License-Identifier: BSD-3-Clause
-- A dissector for Wireshark and tshark. It decodes GUE with GLB's private data on UDP port 19523 (docs/reference/gue.md).
--
-- tshark:    tshark -X lua_script:glb_gue.lua -r capture.pcap
-- Wireshark: copy this file to the folder that Help, About, Folders shows as "Personal Lua Plugins".

local gue = Proto("glb_gue", "GUE with GLB hops")
local decode_as = { [4] = "ip", [41] = "ipv6" }
local field = {
	version = ProtoField.uint8("glb_gue.version", "Version", base.DEC, nil, 0xc0),
	control = ProtoField.bool("glb_gue.control", "Control message", 8, nil, 0x20),
	hlen = ProtoField.uint8("glb_gue.hlen", "Header length in words", base.DEC, nil, 0x1f),
	protocol = ProtoField.uint8("glb_gue.protocol", "Inner protocol", base.DEC, { [4] = "IPv4", [41] = "IPv6" }),
	flags = ProtoField.uint16("glb_gue.flags", "Flags", base.HEX),
	type = ProtoField.uint16("glb_gue.type", "Private data type"),
	next_hop = ProtoField.uint8("glb_gue.next_hop", "Next hop index"),
	hop_count = ProtoField.uint8("glb_gue.hop_count", "Hop count"),
	hop = ProtoField.ipv4("glb_gue.hop", "Hop"),
}
local malformed = ProtoExpert.new("glb_gue.malformed", "A proxy would drop this packet", expert.group.MALFORMED,
	expert.severity.ERROR)
gue.fields = field
gue.experts = { malformed }

-- Adds the private data to the tree. Returns the reason why a proxy would drop the packet, or nil.
local function add_private(tree, data)
	local hlen, count = bit.band(data(0, 1):uint(), 0x1f), data(7, 1):uint()

	tree:add(field.type, data(4, 2))
	tree:add(field.next_hop, data(6, 1))
	tree:add(field.hop_count, data(7, 1))
	if hlen ~= 1 + count or 4 + 4 * hlen > data:len() then
		return "header length is not 1 + hop count, or exceeds the packet"
	end
	for i = 0, count - 1 do
		local hop = tree:add(field.hop, data(8 + 4 * i, 4))
		if i == data(6, 1):uint() then
			hop:append_text(" (next)")
		end
	end
	if data(4, 2):uint() ~= 0 then
		return "private data type is not 0"
	end
	if data(6, 1):uint() > count then
		return "next hop index exceeds the hop count"
	end
end

function gue.dissector(data, packet, root)
	if data:len() < 8 then
		return 0
	end
	local size = math.min(4 + 4 * bit.band(data(0, 1):uint(), 0x1f), data:len())
	local tree = root:add(gue, data(0, size))

	packet.cols.protocol = "GUE"
	tree:add(field.version, data(0, 1))
	tree:add(field.control, data(0, 1))
	tree:add(field.hlen, data(0, 1))
	tree:add(field.protocol, data(1, 1))
	tree:add(field.flags, data(2, 2))

	local inner = decode_as[data(1, 1):uint()]
	local why = add_private(tree, data)

	if bit.band(data(0, 1):uint(), 0xe0) ~= 0 then
		why = "version or control bit is not 0"
	elseif data(2, 2):uint() ~= 0 then
		why = "flags are not 0"
	elseif not inner then
		why = "inner protocol is neither 4 nor 41"
	end
	if why then
		tree:add_proto_expert_info(malformed, why)
		return data:len()
	end
	if size < data:len() then
		Dissector.get(inner):call(data(size):tvb(), packet, root)
	end
	return data:len()
end

DissectorTable.get("udp.port"):add(19523, gue)
