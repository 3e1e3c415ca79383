// Package history records what clients did to locks and what was done to them
// meanwhile, on one monotonic clock, so that package oracle can judge it afterwards.
//
// A [Log] takes an [Op] for each call and a [Fault] for each disturbance, from any
// number of goroutines. [Log.Granted] follows one hold from its grant to its end. A
// history that was refused is written as JSON, one record a line ([Write]), and read
// again by [Read].
package history
