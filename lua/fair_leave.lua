-- fair_leave: takes tickets whose waiters have left out of the line of a fair lock. If the lock is free, and it was the
-- turn of one of them, the next is told.
--
-- KEYS[1] lock      hash: owner -> hold count
-- KEYS[2] epoch     string: commands of this client numbered below it are stale
-- KEYS[3] queue     list: who waits
-- KEYS[4] timeouts  sorted set: who waits -> ms at which Redisson may drop it
-- KEYS[5] line      hash: what is owed, and who was told (fair)
-- ARGV[1] number    of this command; rises with every command of the client
-- ARGV[2] epoch     ms to remember `number` as the epoch; 0: do not
-- ARGV[3] channel   of the lock
-- ARGV[4] how       to publish (redisson)
-- ARGV[i] from 5: the tickets
--
-- Replies 1; -1 stale.
--
-- Twice: the second run finds nothing. Late: a ticket is never used again. It has a number as all commands of a client do,
-- since it may set the epoch.

local lock, epoch, queue, timeouts, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local mark = redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[1]) then
  return -1
end
redis.call('LLEN', queue) -- a key of another type fails before anything is written
if ARGV[2] ~= '0' then
  redis.call('SET', epoch, ARGV[1], 'PX', ARGV[2])
end
local left = 0
for i = 5, #ARGV do
  left = left + redis.call('LREM', queue, 1, ARGV[i])
  redis.call('ZREM', timeouts, ARGV[i])
end
went(queue, timeouts, line, left)
if redis.call('EXISTS', lock) == 0 then
  heads(queue, timeouts, line, nil, ARGV[3], ARGV[4])
end
return 1
