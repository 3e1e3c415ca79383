-- report: reads all that there is to know of a lock, at one instant and from the master.
-- Writes nothing.
--
-- KEYS[1] lock     hash: owner -> hold count
-- KEYS[2] waiters  sorted set: client -> arrival in microseconds of Redis' clock
-- KEYS[3] token    string: fencing counter; only if the user has a right to it
-- ARGV[1] channel  of the lock
-- ARGV[2] how      to pass the lock on (redisson)
--
-- Replies {ttl, now, token, redisson_waiters, fields, waiting}: ttl in ms, -1 without one, -2 when the
-- lock is free; now in microseconds and token as strings; redisson_waiters how many clients of
-- Redisson wait, -1 if that cannot be told; fields a list of owner, count, and waiting one of
-- client, arrival. At most 16 fields and 128 clients.
--
-- Twice or late: reads again.

local lock, waiters, token = KEYS[1], KEYS[2], KEYS[3]

if redis.call('HEXISTS', lock, 'mode') == 1 then
  return redis.error_reply('WRONGTYPE the key holds a read-write lock')
end
-- HKEYS and HGET, and not HGETALL: a user who may lock may call them.
local fields = {}
for i, field in ipairs(redis.call('HKEYS', lock)) do
  if i > 16 then
    break
  end
  fields[#fields + 1] = field
  fields[#fields + 1] = redis.call('HGET', lock, field)
end
local ttl = redis.call('PTTL', lock)
local issued = token and redis.pcall('GET', token)
local waiting = redis.pcall('ZRANGE', waiters, 0, 127, 'WITHSCORES')
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
}
