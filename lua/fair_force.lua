-- fair_force: frees a fair lock whoever holds it, or of one holder only, and tells the first in the line.
--
-- KEYS[1] lock      hash: owner -> hold count
-- KEYS[2] queue     list: who waits
-- KEYS[3] timeouts  sorted set: who waits -> ms at which Redisson may drop it
-- KEYS[4] line      hash: what is owed, and who was told (fair)
-- ARGV[1] channel   of the lock
-- ARGV[2] how       to publish (redisson)
-- ARGV[3] holder    the only owner to take it from; absent: any
--
-- Replies {1} freed, {0} it was free, or another owner's.
--
-- Twice or late: as force.

local lock, queue, timeouts, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- A key of another type fails here and stays as it is, and so does a lock of another layout.
if redis.call('HEXISTS', lock, 'mode') == 1 then
  return redis.error_reply('WRONGTYPE the key holds a read-write lock')
end
if redis.call('HLEN', lock) == 0 then
  return {0}
end
local holder = ARGV[3]
if holder and redis.call('HDEL', lock, holder) == 0 then
  return {0}
end
if holder and redis.call('EXISTS', lock) == 1 then
  return {1} -- another program's field keeps it taken
end
if not holder then
  redis.call('DEL', lock)
end
redis.pcall('HDEL', line, 'absent')
heads(queue, timeouts, line, nil, ARGV[1], ARGV[2])
return {1}
