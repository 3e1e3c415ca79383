package reentrant

import (
	"bytes"
	"runtime"
	"strconv"

	"github.com/petermattis/goid"
)

// goroutineID is goid's fast answer if that agrees with the runtime's own. goid
// reads a private structure of the runtime, which a new Go release may change; a
// wrong id would let two goroutines into one lock.
var goroutineID = func() func() int64 {
	agreed := make(chan bool)
	go func() { agreed <- goid.Get() == slowGoroutineID() }()
	if <-agreed && goid.Get() == slowGoroutineID() {
		return goid.Get
	}
	return slowGoroutineID
}()

// slowGoroutineID reads the id from the head of a stack trace: "goroutine 17 [".
func slowGoroutineID() int64 {
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
