// Package redlatchgoose has one process at a time migrate a database with goose, by a lock in Redis. It is for databases
// that have no advisory locks, and for connections through a pooler that loses them, as PgBouncer does.
package redlatchgoose
