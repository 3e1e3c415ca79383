-- rw_report: reads all that there is to know of a read-write lock, at one instant and from the master.
-- Writes nothing.
--
-- KEYS[1] lock     hash: mode -> read or write, owner -> hold count
-- KEYS[2] waiters  sorted set: client that waits to write -> arrival in microseconds of Redis' clock
-- KEYS[3] readers  sorted set: client that waits to read -> arrival
-- KEYS[4] token    string: fencing counter; only if the user has a right to it
-- ARGV[1] channel  of the lock
-- ARGV[2] how      to pass the lock on (redisson)
--
-- Replies {ttl, now, token, redisson_waiters, fields, waiting, mode, reading}: as report does. fields are a writer's first;
-- waiting are clients that wait to write, and reading those that wait to read. mode '' when free.
--
-- Twice or late: reads again.

local lock, waiters, readers, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local mode = layout(lock)
local fields = {}
for _, reads in ipairs({false, true}) do
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' and is_reader(field) == reads and #fields < 32 then
      fields[#fields + 1] = field
      fields[#fields + 1] = redis.call('HGET', lock, field)
    end
  end
end
local ttl = redis.call('PTTL', lock)
local issued = token and redis.pcall('GET', token)
local waiting = redis.pcall('ZRANGE', waiters, 0, 127, 'WITHSCORES')
local reading = redis.pcall('ZRANGE', readers, 0, 127, 'WITHSCORES')
local publish, _, _, counted = passing(ARGV[2])
local theirs = counted and redisson_waiters(ARGV[1], publish) or -1
local now = redis.call('TIME')
return {
  ttl,
  string.format('%.0f', now[1] * 1000000 + now[2]),
  type(issued) == 'string' and issued or '0',
  theirs,
  fields,
  waiting.err and {} or waiting,
  mode or '',
  reading.err and {} or reading,
}
