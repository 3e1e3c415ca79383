-- fair_force: frees a fair lock whoever holds it, and tells the first in the line.
--
-- KEYS[1] lock      hash: owner -> hold count
-- KEYS[2] queue     list: who waits
-- KEYS[3] timeouts  sorted set: who waits -> ms at which Redisson may drop it
-- KEYS[4] line      hash: what is owed, and who was told (fair)
-- ARGV[1] channel   of the lock
-- ARGV[2] how       to publish (redisson)
--
-- Replies {1} freed, {0} it was free.
--
-- Twice or late: frees the lock of the owner that holds it by then, as the name says.

local lock, queue, timeouts, line = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

-- A key of another type fails here and stays as it is.
if redis.call('HLEN', lock) == 0 then
  return {0}
end
redis.call('DEL', lock)
redis.pcall('HDEL', line, 'absent')
heads(queue, timeouts, line, nil, ARGV[1], ARGV[2])
return {1}
