-- leave: takes a client that does not wait any more out of the registry. If the client was
-- woken, it wakes the next one instead.
--
-- KEYS[1] lock     hash: owner -> hold count
-- KEYS[2] turn     string: the client that was woken and may take the free lock
-- KEYS[3] waiters  sorted set: client -> arrival in microseconds of Redis' clock
-- ARGV[1] client   id of the client
-- ARGV[2] channel  of the lock
-- ARGV[3] listeners  channel of the Go clients that wait
-- ARGV[4] publish  PUBLISH; or SPUBLISH, if the node has it
-- ARGV[5] pause    ms that the free lock is kept for the woken client
-- ARGV[6] yield    ms that it is kept for waiters of Redisson instead
-- ARGV[7] counted  1: PUBLISH and PUBSUB count all subscribers
--
-- Replies {1} if the next waiter, should there be one, was woken; otherwise {0}.
--
-- Twice or late: at worst a waiter is woken in vain, or loses its place.

local lock, turn, waiters = KEYS[1], KEYS[2], KEYS[3]

redis.call('ZREM', waiters, ARGV[1])
local woken = redis.call('GET', turn)
if redis.call('EXISTS', lock) == 1 or (woken and woken ~= ARGV[1] and woken ~= '*') then
  return {0} -- the holder, or the client that was woken, wakes the next one
end
if woken then
  redis.call('DEL', turn)
end
wake(turn, waiters, ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7] == '1')
return {1}
