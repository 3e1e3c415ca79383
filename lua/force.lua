-- force: frees the lock whoever holds it, and grants it to the first registered
-- waiter, or wakes that one.
--
-- KEYS[1] lock     hash: owner -> hold count
-- KEYS[2] turn     string: the client that was woken and may take the free lock
-- KEYS[3] waiters  sorted set: client -> arrival in microseconds of Redis' clock
-- KEYS[4] grants   hash: client -> what a release needs to grant it the lock
-- ARGV[1] channel  of the lock
-- ARGV[2] how      to pass the lock on (redisson)
--
-- Replies {1} freed, {0} it was free.
--
-- Twice or late: frees the lock of the owner that holds it by then, as the name says.

-- A key of another type fails here and stays as it is.
if redis.call('HLEN', KEYS[1]) == 0 then
  return {0}
end
if redis.call('HEXISTS', KEYS[1], 'mode') == 1 then
  return redis.error_reply('WRONGTYPE the key holds a read-write lock')
end
redis.call('DEL', KEYS[1])
wake(KEYS[1], KEYS[2], KEYS[3], KEYS[4], nil, ARGV[1], ARGV[2])
return {1}
