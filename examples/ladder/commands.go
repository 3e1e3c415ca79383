package main

import (
	"bytes"
	"strconv"
	"strings"
)

// counter finds the commands in what a client sends: arrays of byte strings, in RESP.
type counter struct{ rest []byte }

// feed returns the names of the commands that are whole with p, in lower case.
func (c *counter) feed(p []byte) (names []string) {
	c.rest = append(c.rest, p...)
	for {
		name, length := command(c.rest)
		if length == 0 {
			return names
		}
		names = append(names, name)
		c.rest = c.rest[length:]
	}
}

// command returns the first command's name and its length in bytes, 0 if it is not whole.
func command(p []byte) (name string, length int) {
	n, at := number(p, 0, '*')
	for i := range n {
		var size int
		if size, at = number(p, at, '$'); at == 0 || len(p) < at+size+2 {
			return "", 0
		}
		if i == 0 {
			name = strings.ToLower(string(p[at : at+size]))
		}
		at += size + 2
	}
	return name, at
}

// number reads a line such as "*3" and returns the number and where the next line begins,
// 0 if the line is not whole.
func number(p []byte, at int, mark byte) (n, next int) {
	end := bytes.Index(p[at:], []byte("\r\n"))
	if end < 1 || p[at] != mark {
		return 0, 0
	}
	n, err := strconv.Atoi(string(p[at+1 : at+end]))
	if err != nil {
		return 0, 0
	}
	return n, at + end + 2
}
