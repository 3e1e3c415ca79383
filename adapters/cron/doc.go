// Package redlatchcron has the schedulers of robfig/cron v3 on several machines run each job on one of them.
package redlatchcron
