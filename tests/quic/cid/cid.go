// SPDX-License-Identifier: BSD-3-Clause

// Package cid makes QUIC connection IDs that name their server, as draft-ietf-quic-load-balancers-21 says.
package cid

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"sync"

	"github.com/quic-go/quic-go"
)

// Generator is a quic.ConnectionIDGenerator. One server needs one, for all its connections.
type Generator struct {
	id       byte         // of the configuration: 0 to 6, or 7 for a server without configuration
	serverID []byte       // empty without configuration
	block    cipher.Block // nil without key
	mutex    sync.Mutex
	nonce    []byte
}

// New takes a configuration as the forwarding table has it. Without a key, everyone on the path sees the server ID.
func New(id byte, serverID []byte, nonceLength int, key []byte) (*Generator, error) {
	length := len(serverID) + nonceLength
	if id > 6 || len(serverID) < 1 || len(serverID) > 15 || nonceLength < 4 || length > 19 {
		return nil, fmt.Errorf("no configuration: id %d, a server ID of %d bytes, a nonce of %d", id, len(serverID), nonceLength)
	}
	g := &Generator{id: id, serverID: serverID, nonce: make([]byte, nonceLength)}
	if key != nil {
		if len(key) != 16 {
			return nil, fmt.Errorf("the key has %d bytes, not 16", len(key))
		}
		g.block, _ = aes.NewCipher(key)
	}
	_, err := rand.Read(g.nonce)
	return g, err
}

// Unroutable is for a server without configuration: the load balancer sends its packets by addresses and ports.
func Unroutable(length int) *Generator {
	return &Generator{id: 7, nonce: make([]byte, length-1)}
}

func (g *Generator) ConnectionIDLen() int { return 1 + len(g.serverID) + len(g.nonce) }

func (g *Generator) GenerateConnectionID() (quic.ConnectionID, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.block == nil { // observers must not learn which connection IDs belong together
		if _, err := rand.Read(g.nonce); err != nil {
			return quic.ConnectionID{}, err
		}
	} else { // a counter from a random start uses no nonce twice
		for i := len(g.nonce) - 1; i >= 0; i-- {
			if g.nonce[i]++; g.nonce[i] != 0 {
				break
			}
		}
	}
	length := len(g.serverID) + len(g.nonce)
	cid := append(append([]byte{g.id<<5 | byte(length)}, g.serverID...), g.nonce...)
	if g.block != nil {
		g.encrypt(cid[1:])
	}
	return quic.ConnectionIDFromBytes(cid), nil
}

func (g *Generator) encrypt(text []byte) {
	length := len(text)
	if length == aes.BlockSize { // a single pass
		g.block.Encrypt(text, text)
		return
	}
	// Four passes. Each half of a text of odd length has one half of the middle byte.
	half := (length + 1) / 2
	left, right := append([]byte(nil), text[:half]...), append([]byte(nil), text[length-half:]...)
	clear := func() {
		if length%2 == 1 {
			left[half-1] &= 0xf0
			right[0] &= 0x0f
		}
	}
	clear()
	for pass, from, to := 1, left, right; pass <= 4; pass, from, to = pass+1, to, from {
		var block [aes.BlockSize]byte
		copy(block[:], from)
		block[14], block[15] = byte(length), byte(pass)
		g.block.Encrypt(block[:], block[:])
		subtle.XORBytes(to, to, block[:half])
		clear()
	}
	middle := left[half-1] | right[0]
	copy(text, left)
	copy(text[length-half:], right)
	if length%2 == 1 {
		text[half-1] = middle
	}
}
