package faultproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// errProtocol marks bytes that are not RESP, as opposed to a connection that
// ended.
var errProtocol = errors.New("not RESP")

// frame is one request or one reply as it was on the wire.
type frame struct {
	raw  []byte
	kind byte     // first byte of a reply; attributes before it do not count
	args []string // of a request; of a reply that is a list, its leading strings
}

// frameReader cuts a byte stream into frames.
type frameReader struct {
	r   *bufio.Reader
	raw []byte // of the frame being read
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReader(r)}
}

// request reads an array of bulk strings, or an inline command.
func (f *frameReader) request() (frame, error) {
	f.raw = nil
	line, err := f.line()
	if err != nil {
		return frame{}, err
	}
	if len(line) == 0 || line[0] != '*' {
		return frame{raw: f.raw, args: strings.Fields(string(line))}, nil
	}
	n, err := number(line)
	if err != nil {
		return frame{}, err
	}
	args := make([]string, 0, max(n, 0))
	for range n {
		line, err := f.line()
		if err != nil {
			return frame{}, unexpected(err)
		}
		arg, err := f.bulk(line)
		if err != nil {
			return frame{}, unexpected(err)
		}
		args = append(args, string(arg))
	}
	return frame{raw: f.raw, args: args}, nil
}

// reply reads one reply or push frame of RESP2 or RESP3.
func (f *frameReader) reply() (frame, error) {
	f.raw = nil
	kind, args, err := f.value(true)
	if err != nil {
		if len(f.raw) > 0 {
			err = unexpected(err)
		}
		return frame{}, err
	}
	return frame{raw: f.raw, kind: kind, args: args}, nil
}

// value reads one value, with all that it contains. Of a list at the top it
// returns the strings it starts with: they tell a message from a confirmation.
func (f *frameReader) value(top bool) (kind byte, head []string, err error) {
	line, err := f.line()
	if err != nil {
		return 0, nil, err
	}
	if len(line) == 0 {
		return 0, nil, fmt.Errorf("%w: empty line", errProtocol)
	}
	kind = line[0]
	switch kind {
	case '+', '-', ':', '_', ',', '#', '(':
		return kind, []string{string(line[1:])}, nil
	case '$', '=', '!':
		b, err := f.bulk(line)
		return kind, []string{string(b)}, err
	case '*', '~', '>', '%', '|':
	default:
		return 0, nil, fmt.Errorf("%w: reply starts with %q", errProtocol, line)
	}
	n, err := number(line)
	if err != nil {
		return 0, nil, err
	}
	if kind == '%' || kind == '|' {
		n *= 2
	}
	for i := range n {
		k, h, err := f.value(false)
		if err != nil {
			return 0, nil, err
		}
		if top && i == len(head) && i < 2 && (k == '$' || k == '+') {
			head = append(head, h...)
		}
	}
	if kind == '|' { // an attribute belongs to the value after it
		return f.value(top)
	}
	return kind, head, nil
}

func (f *frameReader) line() ([]byte, error) {
	line, err := f.r.ReadBytes('\n')
	f.raw = append(f.raw, line...)
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}

// bulk reads the string that follows its header line; nil for a null.
func (f *frameReader) bulk(header []byte) ([]byte, error) {
	if len(header) == 0 || !bytes.ContainsRune([]byte("$=!"), rune(header[0])) {
		return nil, fmt.Errorf("%w: %q where a bulk string should start", errProtocol, header)
	}
	n, err := number(header)
	if err != nil || n < 0 {
		return nil, err
	}
	at := len(f.raw)
	f.raw = append(f.raw, make([]byte, n+2)...)
	if _, err := io.ReadFull(f.r, f.raw[at:]); err != nil {
		return nil, err
	}
	return f.raw[at : at+n], nil
}

// number reads the length after the type byte of a header; -1 stands for null.
func number(header []byte) (int, error) {
	n, err := strconv.Atoi(string(header[1:]))
	if err != nil || n < -1 {
		return 0, fmt.Errorf("%w: length in %q", errProtocol, header)
	}
	return n, nil
}

// unexpected marks an end of stream inside a frame.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
