// Package memconn has network connections that stay inside the process. They need no socket, so code that
// uses them runs inside a testing/synctest bubble.
package memconn
