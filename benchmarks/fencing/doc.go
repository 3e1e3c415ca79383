// Package fencing has a test that runs the SQL of docs/fencing.md: on PostgreSQL and on SQLite, with real locks. It is a
// module of its own because SQLite takes a minute to compile. It is here because the benchmarks have PostgreSQL.
package fencing
