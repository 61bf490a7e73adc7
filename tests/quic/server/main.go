// SPDX-License-Identifier: BSD-3-Clause

// server answers HTTP/3 requests with its name. Its connection IDs name it for the directors.
//
//	server NAME ADDRESS:PORT CONFIGURATION
//
// CONFIGURATION is a file, which it reads again at SIGHUP:
//
//	{"id": 0, "server_id": "ed793a", "nonce_length": 8, "key": "8f95f09245765f80256934e50c66207f"}
//
// An empty file is no configuration. Prints "ready" when it listens.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"glb-quic/cid"
)

// Length of all connection IDs. A listener of quic-go cannot change it.
const length = 12

// The machine of the lab may be so busy that a client says nothing for a while.
const patience = time.Minute

// generator is what a configuration makes, and can be replaced while connections are open.
type generator struct{ atomic.Pointer[cid.Generator] }

func (g *generator) ConnectionIDLen() int { return length }

func (g *generator) GenerateConnectionID() (quic.ConnectionID, error) {
	return g.Load().GenerateConnectionID()
}

func (g *generator) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		g.Store(cid.Unroutable(length))
		return nil
	}
	var conf struct {
		ID          byte   `json:"id"`
		ServerID    string `json:"server_id"`
		NonceLength int    `json:"nonce_length"`
		Key         string `json:"key"`
	}
	if err := json.Unmarshal(text, &conf); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	serverID, err := hex.DecodeString(conf.ServerID)
	if err != nil {
		return fmt.Errorf("%s: server_id: %w", path, err)
	}
	var key []byte
	if conf.Key != "" {
		if key, err = hex.DecodeString(conf.Key); err != nil {
			return fmt.Errorf("%s: key: not 32 hexadecimal digits", path)
		}
	}
	made, err := cid.New(conf.ID, serverID, conf.NonceLength, key)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if made.ConnectionIDLen() != length {
		return fmt.Errorf("%s: connection IDs of %d bytes, but this server has %d", path, made.ConnectionIDLen(), length)
	}
	g.Store(made)
	return nil
}

func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"web.example"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func run(name, listen, path string) error {
	connectionIDs := &generator{}
	if err := connectionIDs.read(path); err != nil {
		return err
	}
	address, err := net.ResolveUDPAddr("udp", listen)
	if err != nil {
		return err
	}
	socket, err := net.ListenUDP("udp", address)
	if err != nil {
		return err
	}
	own, err := certificate()
	if err != nil {
		return err
	}
	transport := &quic.Transport{Conn: socket, ConnectionIDGenerator: connectionIDs}
	listener, err := transport.ListenEarly(
		http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{own}}), &quic.Config{
			Allow0RTT: true, MaxIdleTimeout: patience, HandshakeIdleTimeout: patience})
	if err != nil {
		return err
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	go func() {
		for range again {
			if err := connectionIDs.read(path); err != nil {
				log.Print(err) // and goes on with the configuration that it has
				continue
			}
			fmt.Println("reloaded")
		}
	}()
	fmt.Println("ready")
	answer := http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		fmt.Fprintf(writer, "%s %s\n", name, request.URL.Path)
	})
	return (&http3.Server{Handler: answer}).ServeListener(listener)
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: server NAME ADDRESS:PORT CONFIGURATION")
	}
	log.Fatal(run(os.Args[1], os.Args[2], os.Args[3]))
}
