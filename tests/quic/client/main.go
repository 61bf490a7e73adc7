// SPDX-License-Identifier: BSD-3-Clause

// client keeps HTTP/3 connections that change their address, and opens short ones all the time. Run as
//
//	client '{"vips": ["192.0.2.1"], "sources": {"4": ["198.51.100.1"]}, "port": 443, "held": 500, "short": 2,
//	         "pause_ms": 500, "moves": 0.2, "timeout_ms": 3000, "seed": 1}'
//
// It prints a report as a line of JSON when all connections are open, and one for each line that it reads. After the line "stop", each
// connection sends a last request first. "calm" and "move" end and begin the changes of addresses.
//
// Before a request, a connection moves with the probability "moves": in half of the cases its UDP socket is replaced by one with another
// port and maybe another address, as a NAT does. In the other half it probes the new path, and uses another connection ID there.
//
// A connection is broken if it ends, if an answer takes longer than timeout_ms, or if the answer is wrong.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

type settings struct {
	VIPs    []string            `json:"vips"`
	Sources map[string][]string `json:"sources"`
	Port    int                 `json:"port"`
	Held    int                 `json:"held"`
	Short   int                 `json:"short"`
	Pause   int                 `json:"pause_ms"`
	Moves   float64             `json:"moves"`
	Timeout int                 `json:"timeout_ms"`
	Seed    uint64              `json:"seed"`
}

var conf settings

// The most migrations of a connection. quic-go does not return the connection ID of a path that it leaves, and a server gives it three
// (https://github.com/quic-go/quic-go/issues/5814).
const migrations = 2

// noConnectionIDs makes the client's own connection IDs empty, because each connection has its own socket. For the same reason as above a
// server of quic-go follows a client that has connection IDs to only two addresses.
type noConnectionIDs struct{}

func (noConnectionIDs) ConnectionIDLen() int { return 0 }

func (noConnectionIDs) GenerateConnectionID() (quic.ConnectionID, error) {
	return quic.ConnectionID{}, nil
}

// socket is a UDP socket that can be replaced while quic-go uses it.
type socket struct {
	mutex   sync.Mutex
	current net.PacketConn
	closed  bool
}

func (s *socket) get() net.PacketConn {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.current
}

func (s *socket) replace(other net.PacketConn) {
	s.mutex.Lock()
	old := s.current
	s.current = other
	s.mutex.Unlock()
	old.Close()
}

func (s *socket) ReadFrom(data []byte) (int, net.Addr, error) {
	for {
		current := s.get()
		size, from, err := current.ReadFrom(data)
		if err == nil || current == s.get() {
			return size, from, err
		}
	}
}

func (s *socket) WriteTo(data []byte, to net.Addr) (int, error) {
	for {
		current := s.get()
		size, err := current.WriteTo(data, to)
		if err == nil || current == s.get() {
			return size, err
		}
	}
}

func (s *socket) Close() error                       { return s.get().Close() }
func (s *socket) LocalAddr() net.Addr                { return s.get().LocalAddr() }
func (s *socket) SetDeadline(t time.Time) error      { return s.get().SetDeadline(t) }
func (s *socket) SetReadDeadline(t time.Time) error  { return s.get().SetReadDeadline(t) }
func (s *socket) SetWriteDeadline(t time.Time) error { return s.get().SetWriteDeadline(t) }

// connection is one of a client. Only its goroutine uses it, except that report() locks it.
type connection struct {
	vip    *net.UDPAddr
	random *rand.Rand
	socket *socket
	// More than one after a migration.
	transports []*quic.Transport
	quic       *quic.Conn
	http       *http3.ClientConn

	mutex             sync.Mutex
	server            string
	broken            string
	asked, until      time.Time // of the last request; until only if the connection is broken
	requests          int
	rebound, migrated int
	longest           time.Duration
}

// open binds a socket to one of the client's addresses.
func (c *connection) open() (*net.UDPConn, error) {
	family := "6"
	if c.vip.IP.To4() != nil {
		family = "4"
	}
	sources := conf.Sources[family]
	return net.ListenUDP("udp"+family, &net.UDPAddr{IP: net.ParseIP(sources[c.random.IntN(len(sources))])})
}

func newConnection(number int) *connection {
	vip := conf.VIPs[number%len(conf.VIPs)]
	return &connection{
		vip:    &net.UDPAddr{IP: net.ParseIP(vip), Port: conf.Port},
		random: rand.New(rand.NewPCG(conf.Seed, uint64(number))),
	}
}

// transport makes quic-go use c.socket.
func (c *connection) transport() *quic.Transport {
	made := &quic.Transport{Conn: c.socket, ConnectionIDGenerator: noConnectionIDs{}}
	c.transports = append(c.transports, made)
	return made
}

func (c *connection) dial(ctx context.Context) error {
	bound, err := c.open()
	if err != nil {
		return err
	}
	c.socket = &socket{current: bound}
	transport := c.transport()
	tlsConf := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}, ServerName: "web.example"}
	c.quic, err = transport.Dial(ctx, c.vip, tlsConf, &quic.Config{
		MaxIdleTimeout: 10 * time.Minute, HandshakeIdleTimeout: time.Duration(conf.Timeout) * time.Millisecond})
	if err != nil {
		return err
	}
	c.http = (&http3.Transport{}).NewClientConn(c.quic)
	return nil
}

func (c *connection) ask(ctx context.Context) error {
	path := fmt.Sprintf("/%d/%d", c.random.Uint32(), c.requests)
	request, err := http.NewRequestWithContext(ctx, "GET", "https://web.example"+path, nil)
	if err != nil {
		return err
	}
	start := time.Now()
	answer, err := c.http.RoundTrip(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	server, rest, _ := strings.Cut(strings.TrimSuffix(string(body), "\n"), " ")
	if rest != path || c.server != "" && c.server != server {
		return errors.New("wrong answer")
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.server = server
	c.requests++
	c.longest = max(c.longest, time.Since(start))
	return nil
}

// rebind is what a NAT does that forgets the client: the connection does not know it.
func (c *connection) rebind() error {
	other, err := c.open()
	if err != nil {
		return err
	}
	c.socket.replace(other)
	c.mutex.Lock()
	c.rebound++
	c.mutex.Unlock()
	return nil
}

// migrate is what a client does that changes its network.
func (c *connection) migrate(ctx context.Context) error {
	bound, err := c.open()
	if err != nil {
		return err
	}
	c.socket = &socket{current: bound}
	path, err := c.quic.AddPath(c.transport())
	if err != nil {
		return fmt.Errorf("no path: %w", err)
	}
	if err := path.Probe(ctx); err != nil {
		return fmt.Errorf("probe: %w", err)
	}
	if err := path.Switch(); err != nil {
		return fmt.Errorf("switch: %w", err)
	}
	c.mutex.Lock()
	c.migrated++
	c.mutex.Unlock()
	return nil
}

// begin starts the time for an answer.
func (c *connection) begin() (context.Context, context.CancelFunc) {
	c.mutex.Lock()
	c.asked = time.Now()
	c.mutex.Unlock()
	return context.WithTimeout(context.Background(), time.Duration(conf.Timeout)*time.Millisecond)
}

// once opens the connection and sends a request.
func (c *connection) once() error {
	ctx, cancel := c.begin()
	defer cancel()
	if err := c.dial(ctx); err != nil {
		return err
	}
	return c.ask(ctx)
}

func (c *connection) next(moves bool) error {
	ctx, cancel := c.begin()
	defer cancel()
	if moves && c.random.Float64() < conf.Moves {
		move := c.rebind
		if c.migrated < migrations && c.random.IntN(2) == 0 {
			move = func() error { return c.migrate(ctx) }
		}
		if err := move(); err != nil {
			return err
		}
	}
	return c.ask(ctx)
}

func (c *connection) fail(err error) {
	reason := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		reason = "timeout: " + reason
	}
	c.mutex.Lock()
	c.broken, c.until = reason, time.Now()
	c.mutex.Unlock()
}

func (c *connection) close() {
	if c.quic != nil {
		c.quic.CloseWithError(0, "")
	}
	for _, transport := range c.transports {
		transport.Close()
		transport.Conn.Close()
	}
}

// handshakes is how many connections open at once, so that servers and a busy machine keep up.
const handshakes = 16

type load struct {
	held  []*connection
	slots chan struct{} // one for each handshake
	calm  atomic.Bool
	stop  chan struct{}
	tasks sync.WaitGroup

	mutex       sync.Mutex
	short       int
	shortBroken []string
}

func (l *load) stopping() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

func (l *load) hold(c *connection, opened *sync.WaitGroup) {
	defer l.tasks.Done()
	defer c.close()
	l.slots <- struct{}{}
	err := c.once()
	<-l.slots
	opened.Done()
	for last := false; err == nil && !last; {
		pause := time.Duration(conf.Pause/2+c.random.IntN(conf.Pause)) * time.Millisecond
		select {
		case <-l.stop:
			last = true
		case <-time.After(pause):
		}
		err = c.next(!l.calm.Load() && !last)
	}
	if err != nil {
		c.fail(err)
	}
}

// shorts opens connections one after the other.
func (l *load) shorts(worker int) {
	defer l.tasks.Done()
	for number := conf.Held + worker; !l.stopping(); number += conf.Short {
		c := newConnection(number)
		err := c.once()
		c.close()
		l.mutex.Lock()
		l.short++
		if err != nil {
			l.shortBroken = append(l.shortBroken, err.Error())
		}
		l.mutex.Unlock()
		time.Sleep(20 * time.Millisecond)
	}
}

// start returns when all connections had their first answer, or are broken.
func (l *load) start() {
	var opened sync.WaitGroup
	l.calm.Store(true)
	for number := range conf.Held {
		c := newConnection(number)
		l.held = append(l.held, c)
		l.tasks.Add(1)
		opened.Add(1)
		go l.hold(c, &opened)
	}
	opened.Wait()
	for worker := range conf.Short {
		l.tasks.Add(1)
		go l.shorts(worker)
	}
}

func seconds(when time.Time) float64 { return float64(when.UnixMicro()) / 1e6 }

func (l *load) report() map[string]any {
	servers, reasons, lost := map[string]int{}, map[string]int{}, []map[string]any{}
	var requests, rebound, migrated, broken, moved int
	var longest time.Duration
	fewest := -1
	for _, c := range l.held {
		c.mutex.Lock()
		servers[c.server]++
		if c.broken != "" {
			broken++
			reasons[c.broken]++
			lost = append(lost, map[string]any{"server": c.server, "asked": seconds(c.asked), "until": seconds(c.until), "why": c.broken})
		} else if fewest < 0 || c.requests < fewest {
			fewest = c.requests
		}
		if c.rebound+c.migrated > 0 {
			moved++
		}
		requests, rebound, migrated, longest = requests+c.requests, rebound+c.rebound, migrated+c.migrated, max(longest, c.longest)
		c.mutex.Unlock()
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return map[string]any{
		"held": len(l.held), "by_server": servers, "broken": broken, "reasons": reasons, "lost": lost, "requests": requests, "fewest_requests": fewest,
		"moved": moved, "rebound": rebound, "migrated": migrated, "longest_answer_s": longest.Seconds(),
		"short": l.short, "short_broken": append([]string{}, l.shortBroken...),
	}
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: client SETTINGS")
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &conf); err != nil {
		log.Fatal(err)
	}
	os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true") // a socket that can be replaced has no such option
	load := &load{stop: make(chan struct{}), slots: make(chan struct{}, handshakes)}
	output := json.NewEncoder(os.Stdout)
	load.start()
	output.Encode(load.report())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); output.Encode(load.report()) {
		switch lines.Text() {
		case "calm", "move":
			load.calm.Store(lines.Text() == "calm")
		case "stop":
			close(load.stop)
			load.tasks.Wait()
		}
	}
}
