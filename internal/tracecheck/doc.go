// Package tracecheck asks TLC whether what Redis executed about a lock is a behaviour of the model
// spec/Grant.tla, as spec/Trace.tla extends it.
//
//  1. A [Recorder] reads MONITOR: each script, its arguments, and the commands that it called, in Redis' order.
//  2. [Convert] makes the [Trace] of one lock of that: an [Entry] for each script.
//  3. [Check] writes the traces into a module, has TLC look for a run of the model that does what each trace says,
//     and reports a [Refusal] for each trace that has none.
//
// MONITOR shows no replies. What a script has found is told by the commands that it went on to call; the model
// has to find the same. What a client has heard, and when it gave up, is in no trace: TLC tries what is possible.
package tracecheck
