// Package redlatchui is a web page that shows the locks of a Client's Redis, as they are held and waited for, and can free
// one. It is an [http.Handler] to mount in a program. The command "redlatch ui" serves it alone.
//
// # States and goroutines
//
// A Handler has one goroutine while at least one page is open. It begins with the first page and ends with the last one,
// which waits for it. Every second it asks Redis which locks are waited for (PUBSUB CHANNELS), and what the Clients report.
// Then it asks about these locks, and those that a page has searched for. What has changed goes to all pages, by server-sent
// events. Without a page nothing is asked.
//
// board.mu guards what is shown, the changes, and the pages. It is not held while Redis is asked, nor while a page is
// written to. A page that does not read loses what it misses, and gets the whole next time.
//
// If Redis does not answer, the pages say so, and show what they had. A force is sent once, and compares the holder.
package redlatchui
