-- leave: takes a client that does not wait any more out of the registry. If the client was
-- woken, or granted the lock, the next one gets that instead.
--
-- KEYS[1] lock     hash: owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] turn     string: the client that was woken and may take the free lock
-- KEYS[4] waiters  sorted set: client -> arrival in microseconds of Redis' clock
-- KEYS[5] grants   hash: client -> what a release needs to grant it the lock
-- ARGV[1] client   id of the client
-- ARGV[2] number   of this command; rises with every command of the client
-- ARGV[3] epoch    ms to remember `number` as the epoch; 0: do not
-- ARGV[4] channel  of the lock
-- ARGV[5] how      to pass the lock on (redisson)
-- ARGV[i] from 6: owners of the client to whom a release may have granted the lock
--
-- Replies {1} if the next waiter, should there be one, was granted the lock or woken; otherwise
-- {0}; {-1} stale.
--
-- Twice: the second run finds nothing. Late: stale once a later command has set the epoch, since
-- one of the owners may have taken the lock by then.

local lock, epoch, turn, waiters, grants = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local mark = redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[2]) then
  return {-1}
end
local held = redis.call('EXISTS', lock) == 1
for i = 6, held and #ARGV or 0 do
  redis.call('HDEL', lock, ARGV[i]) -- a key of another type fails before anything is written
end
if ARGV[3] ~= '0' then
  redis.call('SET', epoch, ARGV[2], 'PX', ARGV[3])
end
redis.call('ZREM', waiters, ARGV[1])
redis.call('HDEL', grants, ARGV[1])
local woken = redis.call('GET', turn)
if held and redis.call('EXISTS', lock) == 1 or not held and woken and woken ~= ARGV[1] and woken ~= '*' then
  return {0} -- the holder, or the client that was woken, wakes the next one
end
if woken then
  redis.call('DEL', turn)
end
wake(lock, turn, waiters, grants, nil, ARGV[4], ARGV[5])
return {1}
