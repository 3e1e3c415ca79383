// Package redisio sends commands. It does not know what they are about: it looks at a command's
// key at most, and knows neither scripts nor locks.
//
// A [Combiner] gathers the commands of many goroutines in pipelines. It starts no goroutine: the
// caller that brought a batch's first command sends the batch, or says who does. Combiner.mu guards the batches
// and the count of what is in flight, and is not held while a command is sent.
//
// [Workers] own their goroutines, which end when they have been idle for a second, or with the
// Workers' ctx and what they run; [Workers.Wait] waits for them. There is no mutex.
//
// A [Reloader] has go-redis read a Cluster's map anew when commands fail, on a goroutine of
// go-redis' own. Reloader.mu guards when it may do so next.
//
// A [Courier] starts short goroutines to ask idle connections for a sign of life, and waits for
// them. Courier.mu guards which keys are silent and which nodes are being asked.
//
// [Detours] start no goroutine. Their clients of go-redis live while a command uses them;
// Detours.mu guards these. Neither mutex is held while a command is sent, and no function here
// takes two.
//
// [ProcessAndWait] and [BehindHooks] keep nothing.
package redisio
