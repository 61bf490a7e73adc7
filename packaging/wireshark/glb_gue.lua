-- SPDX-License-Identifier: BSD-3-Clause
-- A dissector for Wireshark and tshark. It decodes GUE with GLB's private data on UDP port 19523 (docs/reference/gue.md).
--
-- tshark:    tshark -X lua_script:glb_gue.lua -r capture.pcapng
-- Wireshark: copy this file to the folder that Help, About, Folders shows as "Personal Lua Plugins".
--
-- Wireshark shows the names of hops if "Resolve network (IP) addresses" is on, or if its hosts file has them (tshark -N n -H FILE).

local glb = Proto("glb", "GUE with GLB hops")
local protocols = { [4] = "IPv4", [41] = "IPv6" }
local dissectors = { [4] = "ip", [41] = "ipv6" }
local versions = { [4] = 4, [41] = 6 } -- the version in the inner IP header, by inner protocol

local field = {
	status = ProtoField.string("glb.status", "Status"),
	version = ProtoField.uint8("glb.version", "Version", base.DEC, nil, 0xc0),
	control = ProtoField.bool("glb.control", "Control message", 8, nil, 0x20),
	hlen = ProtoField.uint8("glb.hlen", "Header length in words", base.DEC, nil, 0x1f),
	protocol = ProtoField.uint8("glb.protocol", "Inner protocol", base.DEC, protocols),
	flags = ProtoField.uint16("glb.flags", "Flags", base.HEX),
	type = ProtoField.uint16("glb.type", "Private data type"),
	next_index = ProtoField.uint8("glb.next_index", "Next hop index"),
	hop_count = ProtoField.uint8("glb.hop_count", "Hop count"),
	hop = ProtoField.ipv4("glb.hop", "Hop"),
	next_hop = ProtoField.ipv4("glb.next_hop", "Next hop"),
	hop6 = ProtoField.ipv6("glb.hop6", "Hop"),
	next_hop6 = ProtoField.ipv6("glb.next_hop6", "Next hop"),
	quic_cid = ProtoField.string("glb.quic_cid", "QUIC connection ID"),
	quic_server = ProtoField.string("glb.quic_server", "QUIC server"),
	quic_server_id = ProtoField.string("glb.quic_server_id", "QUIC server ID"),
	quic_unroutable = ProtoField.string("glb.quic_unroutable", "QUIC unroutable"),
}
glb.fields = field
glb.prefs.quic_table = Pref.string("Forwarding table with QUIC", "", "The file with whose keys glb-director-cli decodes connection IDs")
glb.prefs.quic_name = Pref.string("Name of its table", "", "If several tables of the file have QUIC configurations")

local sources = { [4] = Field.new("ip.src"), [6] = Field.new("ipv6.src") }
-- By the version of the outer header: the type of the private data, the size of a hop, and the fields of hops.
local outer_kinds = {
	[4] = { type = 0, size = 4, hop = field.hop, next_hop = field.next_hop },
	[6] = { type = 1, size = 16, hop = field.hop6, next_hop = field.next_hop6 },
}

-- By status as in docs/reference/gue.md#decode-statuses. A proxy drops packets of each of these.
local fault = {
	truncated = "The packet ends inside the GUE header",
	bad_version = "The GUE version is not 0",
	control = "A GUE control message",
	bad_flags = "GUE flags are not 0",
	bad_protocol = "The inner protocol is neither 4 (IPv4) nor 41 (IPv6)",
	bad_length = "The header length exceeds the packet, or does not fit the hop count",
	bad_type = "The private data type is not that of the outer header",
	bad_index = "The next hop index exceeds the hop count",
}
-- A proxy accepts these, but its kernel may not.
local doubt = {
	inner_missing = "There is no inner packet",
	inner_version = "The version of the inner IP header is not that of the inner protocol",
	inner_length = "The length in the inner IP header is not that of the inner packet",
}
local experts = {}
for name, text in pairs(fault) do
	experts[name] = ProtoExpert.new("glb.expert." .. name, text .. ": a proxy drops the packet", expert.group.MALFORMED,
		expert.severity.ERROR)
end
for name, text in pairs(doubt) do
	experts[name] = ProtoExpert.new("glb.expert." .. name, text, expert.group.PROTOCOL, expert.severity.WARN)
end
local list = {}
for _, item in pairs(experts) do
	list[#list + 1] = item
end
glb.experts = list

-- Returns the version of the IP header before the UDP header: the last of those that were dissected so far. The text of packet.net_src
-- may be a name.
local function outer_version()
	local last = { [4] = -1, [6] = -1 }

	for version, source in pairs(sources) do
		for _, info in ipairs({ source() }) do
			last[version] = math.max(last[version], info.offset)
		end
	end
	return last[6] > last[4] and 6 or 4
end

-- Returns the status that a proxy gives to the packet. `size` is its size on the wire; 8 bytes at least were captured.
local function decode(data, size, outer)
	local first, hlen = data(0, 1):uint(), bit.band(data(0, 1):uint(), 0x1f)

	if bit.band(first, 0xc0) ~= 0 then
		return "bad_version"
	elseif bit.band(first, 0x20) ~= 0 then
		return "control"
	elseif data(2, 2):uint() ~= 0 then
		return "bad_flags"
	elseif not protocols[data(1, 1):uint()] then
		return "bad_protocol"
	elseif 4 + 4 * hlen > size then
		return "bad_length"
	elseif data(4, 2):uint() ~= outer.type then
		return "bad_type"
	elseif 4 * hlen ~= 4 + outer.size * data(7, 1):uint() then
		return "bad_length"
	elseif data(6, 1):uint() > data(7, 1):uint() then
		return "bad_index"
	end
	return "ok"
end

-- Adds the hops that were captured. `size` is the size of the header.
local function add_hops(tree, data, size, outer)
	local next_index = data(6, 1):uint()

	for i = 0, math.min(data(7, 1):uint(), math.floor((size - 8) / outer.size)) - 1 do
		local at = 8 + outer.size * i
		if at + outer.size > data:len() then
			return
		end
		local hop = tree:add(outer.hop, data(at, outer.size))
		if i == next_index then
			hop:append_text(" (next)")
			tree:add(outer.next_hop, data(at, outer.size)):set_generated()
		end
	end
end

-- Returns the name of what is doubtful about the inner packet, or nil. `size` is its size on the wire.
local function find_doubt(inner, size, protocol)
	if size == 0 then
		return "inner_missing"
	elseif inner:len() < 6 then
		return nil -- the snap length of the capture has cut it
	elseif bit.rshift(inner(0, 1):uint(), 4) ~= versions[protocol] then
		return "inner_version"
	elseif protocol == 4 and inner(2, 2):uint() ~= size or protocol == 41 and inner(4, 2):uint() + 40 ~= size then
		return "inner_length"
	end
end

-- Returns the UDP payload of an inner packet, which is not a fragment; or nil.
local function udp_payload(inner, protocol)
	local at, is_udp = 40, false

	if protocol == 4 and inner:len() >= 20 then
		at = 4 * bit.band(inner(0, 1):uint(), 0xf)
		is_udp = inner(9, 1):uint() == 17 and bit.band(inner(6, 2):uint(), 0x3fff) == 0
	elseif protocol == 41 and inner:len() >= 40 then
		is_udp = inner(6, 1):uint() == 17
	end
	return is_udp and inner:len() > at + 9 and inner(at + 8) or nil
end

-- Returns the destination connection ID (RFC 8999) in hex, as far as a table can decode it; or nil.
local function connection_id(payload)
	local at, size = 1, payload:len() - 1

	if bit.band(payload(0, 1):uint(), 0x80) ~= 0 then
		if payload:len() < 7 or payload(5, 1):uint() > payload:len() - 6 then
			return nil
		end
		at, size = 6, payload(5, 1):uint()
	end
	return size > 0 and payload(at, math.min(size, 20)):bytes():tohex(true) or nil
end

-- What `glb-director-cli quic decode` prints, by connection ID. The preferences can change.
local decoded = {}

function glb.prefs_changed()
	decoded = {}
end

local function quote(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

local function decode_cid(cid)
	if not decoded[cid] then
		local name = glb.prefs.quic_name ~= "" and " --table " .. quote(glb.prefs.quic_name) or ""
		local pipe = io.popen("glb-director-cli quic decode --json" .. name .. " -- " .. quote(glb.prefs.quic_table) .. " " .. cid .. " 2>&1")
		decoded[cid] = pipe:read("*a")
		pipe:close()
	end
	return decoded[cid]
end

-- Adds what the connection ID of a QUIC packet means to the table in the preferences.
local function add_quic(tree, inner, protocol)
	local payload = glb.prefs.quic_table ~= "" and udp_payload(inner, protocol)
	local cid = payload and connection_id(payload)

	if not cid then
		return
	end
	local answer = decode_cid(cid)
	tree:add(field.quic_cid, cid):set_generated()
	if not answer:find("^{") then
		tree:add(field.quic_server, "not known: " .. answer:gsub("\n.*", "")):set_generated()
	end
	for key, member in pairs({ quic_server = "ip", quic_server_id = "server_id", quic_unroutable = "unroutable" }) do
		local value = answer:match('"' .. member .. '": "([^"]*)"')
		if value then
			tree:add(field[key], value):set_generated()
		end
	end
end

local function add_header(tree, data)
	tree:add(field.version, data(0, 1))
	tree:add(field.control, data(0, 1))
	tree:add(field.hlen, data(0, 1))
	tree:add(field.protocol, data(1, 1))
	tree:add(field.flags, data(2, 2))
	tree:add(field.type, data(4, 2))
	tree:add(field.next_index, data(6, 1))
	tree:add(field.hop_count, data(7, 1))
end

function glb.dissector(data, packet, root)
	local wire = data:reported_len()

	packet.cols.protocol = "GUE"
	if data:len() < 8 then
		local tree = root:add(glb, data())
		if wire < 8 then
			tree:add(field.status, "truncated"):set_generated()
			tree:add_proto_expert_info(experts.truncated)
		end
		return data:len()
	end

	local protocol = data(1, 1):uint()
	local size = math.min(math.max(4 + 4 * bit.band(data(0, 1):uint(), 0x1f), 8), data:len())
	local outer = outer_kinds[outer_version()]
	local tree, status = root:add(glb, data(0, size)), decode(data, wire, outer)
	tree:add(field.status, status):set_generated()
	add_header(tree, data)
	add_hops(tree, data, size, outer)
	if status ~= "ok" then
		tree:add_proto_expert_info(experts[status])
		return data:len()
	end
	tree:append_text(string.format(", next %d of %d", data(6, 1):uint(), data(7, 1):uint()))
	if size < data:len() then
		local inner = data(size):tvb()
		local found = find_doubt(inner, wire - size, protocol)
		if found then
			tree:add_proto_expert_info(experts[found])
		else
			add_quic(tree, inner, protocol)
		end
		-- An inner packet that is cut or malformed ends its dissector with an error. Wireshark has shown that already.
		local dissector = Dissector.get(found == "inner_version" and "data" or dissectors[protocol])
		pcall(dissector.call, dissector, inner, packet, root)
	elseif size == wire then
		tree:add_proto_expert_info(experts.inner_missing)
	end
	return data:len()
end

DissectorTable.get("udp.port"):add(19523, glb)
