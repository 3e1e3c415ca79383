// Package redlatchgrpc has interceptors for gRPC servers that hold a lock while a call is handled, one for each order, or
// whatever the ID in the request names. Two calls for the same order are handled one after the other, on whichever of many
// servers they arrive. It is package httpguard for gRPC.
//
// The handler's ctx is that of the hold. It ends when the lock is lost, with the cause reentrant.ErrLost, and when the call
// ends. Nested locks that are taken with it re-enter. The lock is released when the handler returns or panics.
//
// What the caller gets without the handler being called:
//
//	InvalidArgument             the ID is not one
//	Aborted                     another call held the lock until the wait was over; RetryInfo
//	Canceled, DeadlineExceeded  the call has ended while it waited
//	Unavailable                 Redis could not be asked, or the Client is closing; RetryInfo
//
// If the lock is lost, and the handler returns an error that is no status, the caller gets Aborted, without RetryInfo.
//
// What it does not promise: that the handler runs once for each order. That is for the order's state to say, which the
// handler reads while it has the lock. A handler that does not look at its ctx goes on after a loss, and its answer goes
// out; one that must not write then has to check the fencing token (HoldFrom) at the resource.
package redlatchgrpc
