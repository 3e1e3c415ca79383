package pubsub_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/pubsub"
)

// script is a server whose answers the test writes. It speaks RESP2.
type script struct {
	*testing.T
	hub      *pubsub.Hub
	conns    chan net.Conn
	conn     net.Conn
	commands chan string // as "SUBSCRIBE a b", those of the handshake left out
}

func scripted(t *testing.T, cfg pubsub.Config, f func(s *script)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &script{T: t, conns: make(chan net.Conn, 100), commands: make(chan string, 100)}
		client := newClient(func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			s.conns <- far
			go s.serve(far)
			return near, nil
		})
		defer client.Close()
		s.hub = pubsub.NewHub(client, cfg)
		defer closeHub(t, s.hub)
		f(s)
	})
}

func (s *script) serve(conn net.Conn) {
	rd := bufio.NewReader(conn)
	for {
		args, err := readCommand(rd)
		if err != nil {
			conn.Close()
			return
		}
		args[0] = strings.ToUpper(args[0])
		switch args[0] {
		case "SUBSCRIBE", "UNSUBSCRIBE", "PING":
			s.commands <- strings.Join(args, " ")
		default:
			fmt.Fprintf(conn, "-ERR unknown command\r\n")
		}
	}
}

func readCommand(rd *bufio.Reader) ([]string, error) {
	number := func() (int, error) {
		line, err := rd.ReadString('\n')
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number()
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		size, err := number()
		if err != nil {
			return nil, err
		}
		arg := make([]byte, size+2)
		if _, err := io.ReadFull(rd, arg); err != nil {
			return nil, err
		}
		args[i] = string(arg[:size])
	}
	return args, nil
}

// accept waits for a connection and answers on that from now on.
func (s *script) accept() {
	s.Helper()
	select {
	case s.conn = <-s.conns:
	case <-time.After(time.Minute):
		s.Fatal("no connection")
	}
}

// expect waits for a command.
func (s *script) expect(want string) {
	s.Helper()
	select {
	case got := <-s.commands:
		if got != want {
			s.Fatalf("command %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		s.Fatalf("no command, want %q", want)
	}
}

// quiet checks that no command was sent.
func (s *script) quiet() {
	s.Helper()
	synctest.Wait()
	select {
	case got := <-s.commands:
		s.Fatalf("command %q, want none", got)
	default:
	}
}

// answer answers with one subscribe, unsubscribe or message.
func (s *script) answer(kind, channel string) {
	third := ":1\r\n"
	if kind == "message" {
		third = "$1\r\nx\r\n"
	}
	s.write(fmt.Sprintf("*3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n%s", len(kind), kind, len(channel), channel, third))
}

func (s *script) write(raw string) {
	s.Helper()
	if _, err := io.WriteString(s.conn, raw); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
}

func TestListenWhileUnsubscribeIsUnanswered(t *testing.T) {
	scripted(t, pubsub.Config{Linger: -1}, func(s *script) {
		var kept, first, second recorder
		s.hub.Listen("kept", kept.listen)
		s.accept()
		s.expect("SUBSCRIBE kept")
		s.answer("subscribe", "kept")

		sub := s.hub.Listen("a", first.listen)
		s.expect("SUBSCRIBE a")
		sub.Close() // before it is confirmed
		s.quiet()
		s.answer("subscribe", "a")
		s.expect("UNSUBSCRIBE a")
		wantEvents(s.T, &first)

		sub = s.hub.Listen("a", second.listen)
		s.quiet()
		s.answer("message", "a") // of the old subscription
		wantEvents(s.T, &second)
		if sub.Confirmed() {
			s.Error("confirmed by the old SUBSCRIBE")
		}
		s.answer("unsubscribe", "a")
		s.expect("SUBSCRIBE a")
		if sub.Confirmed() {
			s.Error("confirmed by the answer to UNSUBSCRIBE")
		}
		s.answer("subscribe", "a")
		s.answer("message", "a")
		wantEvents(s.T, &second, subscribed("a"), message("a", "x"))
		if !sub.Confirmed() || s.hub.Channels() != 2 {
			s.Errorf("confirmed %t, %d channels", sub.Confirmed(), s.hub.Channels())
		}
		wantEvents(s.T, &kept, subscribed("kept"))
	})
}

func TestWantsThatChangeBackCostNoCommand(t *testing.T) {
	scripted(t, pubsub.Config{Linger: -1}, func(s *script) {
		s.hub.Listen("kept", func(pubsub.Event) {})
		s.accept()
		s.expect("SUBSCRIBE kept")
		s.hub.Listen("a", func(pubsub.Event) {}).Close()
		s.answer("subscribe", "kept")
		s.quiet()
		if s.hub.Channels() != 1 {
			s.Errorf("%d channels, want 1", s.hub.Channels())
		}
	})
}

func TestUnaskedReplyReplacesTheConnection(t *testing.T) {
	for _, reply := range []struct{ name, kind, channel string }{
		{"again", "subscribe", "a"},
		{"contrary", "unsubscribe", "a"},
		{"unknown", "subscribe", "b"},
	} {
		t.Run(reply.name, func(t *testing.T) {
			scripted(t, pubsub.Config{}, func(s *script) {
				var r recorder
				s.hub.Listen("a", r.listen)
				s.accept()
				s.expect("SUBSCRIBE a")
				s.answer("subscribe", "a")
				s.answer(reply.kind, reply.channel)
				s.accept()
				s.expect("SUBSCRIBE a")
				s.answer("subscribe", "a")
				wantEvents(s.T, &r, subscribed("a"), resubscribed("a"))
			})
		})
	}
}

func TestWrongReplyReplacesTheConnection(t *testing.T) {
	scripted(t, pubsub.Config{}, func(s *script) {
		var r recorder
		sub := s.hub.Listen("a", r.listen)
		s.accept()
		s.expect("SUBSCRIBE a")
		s.answer("unsubscribe", "a")
		if sub.Confirmed() {
			s.Error("confirmed by an answer to UNSUBSCRIBE")
		}
		s.accept()
		s.expect("SUBSCRIBE a")
		s.answer("subscribe", "a")
		wantEvents(s.T, &r, subscribed("a"))
	})
}

func TestGarbageReplacesTheConnection(t *testing.T) {
	scripted(t, pubsub.Config{}, func(s *script) {
		var r recorder
		s.hub.Listen("a", r.listen)
		s.accept()
		s.expect("SUBSCRIBE a")
		s.write("*1\r\n$7\r\ngarbage\r\n")
		s.accept()
		s.expect("SUBSCRIBE a")
		s.answer("subscribe", "a")
		wantEvents(s.T, &r, subscribed("a"))
	})
}

// Messages keep coming, but SUBSCRIBE is never answered.
func TestUnansweredSubscribeReplacesTheConnection(t *testing.T) {
	scripted(t, pubsub.Config{PingInterval: 3 * time.Second, PingTimeout: 2 * time.Second}, func(s *script) {
		var a, b recorder
		s.hub.Listen("a", a.listen)
		s.accept()
		s.expect("SUBSCRIBE a")
		s.answer("subscribe", "a")
		start := time.Now()
		s.hub.Listen("b", b.listen)
		s.expect("SUBSCRIBE b")
		for range 49 {
			time.Sleep(100 * time.Millisecond)
			s.answer("message", "a")
		}
		if n := a.count(pubsub.Message); n != 49 {
			s.Errorf("%d messages, want 49", n)
		}
		s.accept()
		if d := time.Since(start); d < 5*time.Second || d > 5*time.Second+20*time.Millisecond {
			s.Errorf("replaced after %v, want 5s and the backoff", d)
		}
		<-s.commands // the order of the two is open
		s.answer("subscribe", "b")
		s.answer("subscribe", "a")
		wantEvents(s.T, &b, subscribed("b"))
		if a.count(pubsub.Resubscribed) != 1 {
			s.Error("not resubscribed")
		}
	})
}

// A reply that comes in pieces, with a long time between them, is one reply.
func TestFault15ReplyInPieces(t *testing.T) {
	scripted(t, pubsub.Config{PingInterval: time.Second, PingTimeout: time.Hour}, func(s *script) {
		var r recorder
		s.hub.Listen("a", r.listen)
		s.accept()
		s.expect("SUBSCRIBE a")
		s.answer("subscribe", "a")
		s.write("*3\r\n$7\r\nmess")
		s.expect("PING")
		time.Sleep(time.Minute)
		s.write("age\r\n$1\r\na\r\n$1\r\n")
		time.Sleep(time.Minute)
		s.write("x\r\n")
		wantEvents(s.T, &r, subscribed("a"), message("a", "x"))
	})
}

func TestRefusedPingIsASignOfLife(t *testing.T) {
	scripted(t, pubsub.Config{}, func(s *script) {
		var r recorder
		s.hub.Listen("a", r.listen)
		s.accept()
		s.expect("SUBSCRIBE a")
		s.answer("subscribe", "a")
		for range 10 {
			s.expect("PING")
			s.write("-NOPERM this user has no permissions to run the 'ping' command\r\n")
		}
		wantEvents(s.T, &r, subscribed("a"))
		select {
		case <-s.conns:
			s.Error("the connection was replaced")
		default:
		}
	})
}

func TestRefusedSubscribeIsTriedAgain(t *testing.T) {
	scripted(t, pubsub.Config{}, func(s *script) {
		var r recorder
		start := time.Now()
		s.hub.Listen("a", r.listen)
		for range 20 {
			s.accept()
			s.expect("SUBSCRIBE a")
			s.write("-NOPERM this user has no permissions to access one of the channels used as arguments\r\n")
		}
		if d := time.Since(start); d < 3*time.Second || d > 40*time.Second {
			s.Errorf("20 attempts in %v", d)
		}
		s.accept()
		s.expect("SUBSCRIBE a")
		s.answer("subscribe", "a")
		wantEvents(s.T, &r, subscribed("a"))
	})
}
