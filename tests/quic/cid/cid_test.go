// SPDX-License-Identifier: BSD-3-Clause
package cid

import (
	"encoding/hex"
	"testing"
)

func bytes(t *testing.T, text string) []byte {
	t.Helper()
	found, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The test vectors of the draft. All encode their length in the first octet.
func TestVectors(t *testing.T) {
	const key, example = "8f95f09245765f80256934e50c66207f", "fdf726a9893ec05c0632d3956680baf0"
	for _, vector := range []struct {
		id                        byte
		key, serverID, nonce, cid string
	}{
		{0, "", "c4605e", "4504cc4f", "07c4605e4504cc4f"},
		{1, "", "350d28b420", "03487d970b", "2a350d28b42003487d970b"}, // the draft prints it without leading zeros of bytes
		{0, key, "ed793a", "ee080dbf", "0720b1d07b359d3c"},
		{1, key, "ed793a51d49b8f5fab65", "ee080dbf48", "2fcc381bc74cb4fbad2823a3d1f8fed2"},
		{2, key, "ed793a51d49b8f5f", "ee080dbf48c0d1e5", "504dd2d05a7b0de9b2b9907afb5ecf8cc3"},
		{3, key, "ed793a51d49b8f5fab", "ee080dbf48c0d1e55d", "125779c9cc86beb3a3a4a3ca96fce4bfe0cdbc"},
		{0, example, "31441a", "9c69c275", "0767947d29be054a"},
	} {
		var secret []byte
		if vector.key != "" {
			secret = bytes(t, vector.key)
		}
		serverID, nonce := bytes(t, vector.serverID), bytes(t, vector.nonce)
		g, err := New(vector.id, serverID, len(nonce), secret)
		if err != nil {
			t.Fatal(err)
		}
		text := append(append([]byte(nil), serverID...), nonce...)
		if secret != nil {
			g.encrypt(text)
		}
		// The draft's vectors have other low bits in the first octet if the text has 16 or more bytes.
		if got := hex.EncodeToString(text); got != vector.cid[2:] {
			t.Errorf("server ID %s, nonce %s: %s, not %s", vector.serverID, vector.nonce, got, vector.cid[2:])
		}
	}
}

func TestNoConnectionIDTwice(t *testing.T) {
	g, err := New(5, []byte{1, 2, 3}, 4, make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	copy(g.nonce, []byte{0, 0xff, 0xff, 0xf0}) // so that the counter carries
	seen := map[string]bool{}
	for i := 0; i < 100000; i++ {
		made, err := g.GenerateConnectionID()
		if err != nil || made.Len() != g.ConnectionIDLen() || made.Bytes()[0] != 5<<5|7 || seen[made.String()] {
			t.Fatalf("%s: twice, or not what it should be (%v)", made, err)
		}
		seen[made.String()] = true
	}
}

func TestWithoutConfiguration(t *testing.T) {
	g := Unroutable(12)
	first, _ := g.GenerateConnectionID()
	second, _ := g.GenerateConnectionID()
	if first.Len() != 12 || first.Bytes()[0] != 0xeb || first == second {
		t.Fatalf("%s, %s", first, second)
	}
}

func TestFaults(t *testing.T) {
	for name, make := range map[string]func() (*Generator, error){
		"id 7":               func() (*Generator, error) { return New(7, []byte{1}, 4, nil) },
		"no server ID":       func() (*Generator, error) { return New(0, nil, 8, nil) },
		"short nonce":        func() (*Generator, error) { return New(0, []byte{1}, 3, nil) },
		"20 bytes":           func() (*Generator, error) { return New(0, []byte{1, 2}, 18, nil) },
		"long server ID":     func() (*Generator, error) { return New(0, append(make16(), 1), 4, nil) },
		"key of 15 bytes":    func() (*Generator, error) { return New(0, []byte{1}, 8, make16()[:15]) },
		"empty key, not nil": func() (*Generator, error) { return New(0, []byte{1}, 8, []byte{}) },
	} {
		if _, err := make(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func make16() []byte { return make([]byte, 16) }
