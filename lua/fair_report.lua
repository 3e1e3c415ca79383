-- fair_report: reads all that there is to know of a fair lock, at one instant and from the master. Writes nothing.
--
-- KEYS[1] lock   hash: owner -> hold count
-- KEYS[2] queue  list: who waits
-- KEYS[3] token  string: fencing counter; only if the user has a right to it
--
-- Replies {ttl, token, fields, line}: ttl in ms, -1 without one, -2 when the lock is free; token as a string; fields a list
-- of owner, count; line who waits, the first to come first. At most 16 fields and 128 who wait.
--
-- Twice or late: reads again.

local lock, queue, token = KEYS[1], KEYS[2], KEYS[3]

if redis.call('HEXISTS', lock, 'mode') == 1 then
  return redis.error_reply('WRONGTYPE the key holds a read-write lock')
end
local fields = {}
for i, field in ipairs(redis.call('HKEYS', lock)) do
  if i > 16 then
    break
  end
  fields[#fields + 1] = field
  fields[#fields + 1] = redis.call('HGET', lock, field)
end
local issued = token and redis.pcall('GET', token)
local waiting = redis.pcall('LRANGE', queue, 0, 127)
return {
  redis.call('PTTL', lock),
  type(issued) == 'string' and issued or '0',
  fields,
  waiting.err and {} or waiting,
}
