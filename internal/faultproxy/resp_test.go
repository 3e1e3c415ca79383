package faultproxy

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

var replies = []struct {
	raw  string
	kind byte
	args []string
}{
	{"+OK\r\n", '+', []string{"OK"}},
	{"-ERR no\r\n", '-', []string{"ERR no"}},
	{":12\r\n", ':', []string{"12"}},
	{"$-1\r\n", '$', []string{""}},
	{"$0\r\n\r\n", '$', []string{""}},
	{"$4\r\n\r\n\r\n\r\n", '$', []string{"\r\n\r\n"}},
	{"*-1\r\n", '*', nil},
	{"*0\r\n", '*', nil},
	{"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$1\r\n0\r\n", '*', []string{"message", "c"}},
	{"*2\r\n*1\r\n:1\r\n$-1\r\n", '*', nil},
	{"_\r\n", '_', []string{""}},
	{"#t\r\n", '#', []string{"t"}},
	{",1.5\r\n", ',', []string{"1.5"}},
	{"(123456789012345678901234567890\r\n", '(', []string{"123456789012345678901234567890"}},
	{"!5\r\nERR x\r\n", '!', []string{"ERR x"}},
	{"=5\r\ntxt:x\r\n", '=', []string{"txt:x"}},
	{"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", '%', []string{"a"}},
	{"~2\r\n:1\r\n:2\r\n", '~', nil},
	{">3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n", '>', []string{"subscribe", "c"}},
	{"|1\r\n+ttl\r\n:1\r\n$1\r\nx\r\n", '$', []string{"x"}},
}

func TestReplyFrames(t *testing.T) {
	var all strings.Builder
	for _, r := range replies {
		all.WriteString(r.raw)
	}
	fr := newFrameReader(strings.NewReader(all.String()))
	for _, want := range replies {
		f, err := fr.reply()
		if err != nil {
			t.Fatalf("%q: %v", want.raw, err)
		}
		if string(f.raw) != want.raw || f.kind != want.kind || !slices.Equal(f.args, want.args) {
			t.Errorf("%q read as %q, %q, %q", want.raw, f.raw, f.kind, f.args)
		}
	}
	if _, err := fr.reply(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// A frame that is cut off is neither a frame nor a clean end.
func TestTruncatedFrames(t *testing.T) {
	for _, r := range replies {
		for n := 1; n < len(r.raw); n++ {
			_, err := newFrameReader(strings.NewReader(r.raw[:n])).reply()
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%q: %v", r.raw[:n], err)
			}
		}
	}
}

func TestRequestFrames(t *testing.T) {
	const first, second = "*2\r\n$3\r\nGET\r\n$3\r\na\r\n\r\n", "PING  x\r\n"
	fr := newFrameReader(strings.NewReader(first + second))
	f, err := fr.request()
	if err != nil || string(f.raw) != first || !slices.Equal(f.args, []string{"GET", "a\r\n"}) {
		t.Errorf("%q, %q, %v", f.raw, f.args, err)
	}
	f, err = fr.request()
	if err != nil || string(f.raw) != second || !slices.Equal(f.args, []string{"PING", "x"}) {
		t.Errorf("%q, %q, %v", f.raw, f.args, err)
	}
	if _, err = fr.request(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestNotRESP(t *testing.T) {
	for _, raw := range []string{"\r\n", "GET / HTTP/1.1\r\n", "*x\r\n", "$-2\r\n"} {
		if _, err := newFrameReader(strings.NewReader(raw)).reply(); !errors.Is(err, errProtocol) {
			t.Errorf("reply %q: %v", raw, err)
		}
	}
	for _, raw := range []string{"*1\r\n:1\r\n", "*y\r\n", "*1\r\n$x\r\n"} {
		if _, err := newFrameReader(strings.NewReader(raw)).request(); !errors.Is(err, errProtocol) {
			t.Errorf("request %q: %v", raw, err)
		}
	}
}
