// Package goroutine tells which goroutine runs: an owner is a goroutine unless ctx names another.
package goroutine

import (
	"bytes"
	"runtime"
	"strconv"

	"github.com/petermattis/goid"
)

// ID is the ID of the calling goroutine. It is goid's fast answer if that agrees with the runtime's own. goid
// reads a private structure of the runtime, which a new Go release may change; a
// wrong id would let two goroutines into one lock.
var ID = func() func() int64 {
	agreed := make(chan bool)
	go func() { agreed <- goid.Get() == slowID() }()
	if <-agreed && goid.Get() == slowID() {
		return goid.Get
	}
	return slowID
}()

// slowID reads the id from the head of a stack trace: "goroutine 17 [".
func slowID() int64 {
	var buf [64]byte
	head := buf[:runtime.Stack(buf[:], false)]
	_, head, _ = bytes.Cut(head, []byte(" "))
	digits, _, _ := bytes.Cut(head, []byte(" "))
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		panic("redlatch: cannot read the goroutine id from " + strconv.Quote(string(buf[:])))
	}
	return id
}
