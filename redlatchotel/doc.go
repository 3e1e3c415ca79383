// Package redlatchotel measures and traces the locks of package reentrant with OpenTelemetry.
//
//	telemetry, err := redlatchotel.New(redlatchotel.WithGroup(redlatchotel.BeforeColon))
//	client, err := reentrant.New(rdb, reentrant.WithEvents(telemetry.Events()))
//	stop, err := telemetry.Observe(client, "billing")
//
// # Metrics
//
// Durations are in seconds.
//
//	redlatch.acquire.duration   histogram        s             of each call that takes a lock, nested ones included
//	redlatch.hold.duration      histogram        s             from the grant to the end of the hold, nested holds excluded
//	redlatch.hold.active        up-down counter  {hold}        locks held now
//	redlatch.waiter.active      up-down counter  {call}        calls that wait now
//	redlatch.renewals           counter          {renewal}     renewals that Redis confirmed, and those that failed
//	redlatch.wakeups            counter          {wakeup}      why waiting calls tried again
//	redlatch.losses             counter          {loss}        locks lost
//	redlatch.resubscriptions    counter          {resubscription}
//
// The two up-down counters, renewals and wakeups come from [Telemetry.Observe], the others from
// [Telemetry.Events].
//
//	redlatch.lock.group      both histograms, with WithGroup: what the function makes of the lock's name
//	redlatch.acquire.how     acquire.duration: free, message, ttl, poll, subscribed, handoff, shared, reentry
//	error.type               acquire.duration, instead of how: busy, canceled, closed, redis, replicas, lost
//	                         renewals: redis, of those that failed
//	redlatch.hold.end        hold.duration: released, handed_over, lost, unconfirmed
//	redlatch.loss.reason     losses, and hold.duration of a lost hold: lease_ended, overridden
//	redlatch.wakeup.cause    wakeups: message, ttl, poll, subscribed
//	redlatch.client.name     what Observe reports: the name that it was given
//
// No attribute of a metric has the name of a lock: each name would be a series of its own.
//
// # Spans
//
// "redlatch.acquire NAME" is the call, a child of the span in its ctx, with the events waiting and woken.
// "redlatch.hold" lasts from the grant to the end of the hold. It is a child of the same span, or of the
// acquisition if there is none, and linked to the acquisition. Spans have the lock's name.
//
// Both exist if the TracerProvider's sampler takes the acquisition. Spans are exported at their end, so a call that waits
// for ever is in waiter.active and in no trace.
package redlatchotel
