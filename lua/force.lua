-- force: frees the lock whoever holds it, or of one holder only, and grants it to the first registered
-- waiter, or wakes that one.
--
-- KEYS[1] lock     hash: owner -> hold count
-- KEYS[2] turn     string: the client that was woken and may take the free lock
-- KEYS[3] waiters  sorted set: client -> arrival in microseconds of Redis' clock
-- KEYS[4] grants   hash: client -> what a release needs to grant it the lock
-- ARGV[1] channel  of the lock
-- ARGV[2] how      to pass the lock on (redisson)
-- ARGV[3] holder   the only owner to take it from; absent: any
--
-- Replies {1} freed, {0} it was free, or another owner's.
--
-- Twice or late: frees the lock of the owner that holds it by then, as the name says. With a holder it never takes a lock
-- from another one; that owner may have released it and have it again.

-- A key of another type fails here and stays as it is.
if redis.call('HLEN', KEYS[1]) == 0 then
  return {0}
end
if redis.call('HEXISTS', KEYS[1], 'mode') == 1 then
  return redis.error_reply('WRONGTYPE the key holds a read-write lock')
end
local holder = ARGV[3]
if holder and redis.call('HDEL', KEYS[1], holder) == 0 then
  return {0}
end
if holder and redis.call('EXISTS', KEYS[1]) == 1 then
  return {1} -- another program's field keeps it taken
end
if not holder then
  redis.call('DEL', KEYS[1])
end
wake(KEYS[1], KEYS[2], KEYS[3], KEYS[4], nil, ARGV[1], ARGV[2])
return {1}
