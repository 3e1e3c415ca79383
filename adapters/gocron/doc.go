// Package redlatchgocron has the schedulers of gocron v2 on several machines run each job on one of them.
//
// A Locker takes a lock for each run of a job; any machine may have the next run. An Elector has one scheduler run all
// jobs, as long as it lives. Both keep the lock for a minimum hold after a tick: clocks differ, so other machines tick a
// moment later, and must find a job that has ended already taken.
package redlatchgocron
