-- fair_pass: lets a fair lock go. It goes to the next waiter of the same client, without being free in
-- between, if that is the first in the line. Otherwise it is freed, and the first is told.
--
-- KEYS[1] lock      hash: owner -> hold count
-- KEYS[2] epoch     string: commands of this client numbered below it are stale
-- KEYS[3] queue     list: who waits
-- KEYS[4] timeouts  sorted set: who waits -> ms at which Redisson may drop it
-- KEYS[5] line      hash: what is owed, and who was told (fair)
-- KEYS[6] token     string: fencing counter; only when the lock has fencing
-- ARGV[1] from      owner that lets go
-- ARGV[2] number    of this command; rises with every command of the client
-- ARGV[3] epoch     ms to remember `number` as the epoch; 0: do not
-- ARGV[4] channel   of the lock
-- ARGV[5] how       to publish (redisson)
-- and with a next waiter:
-- ARGV[6] to        owner that is to hold the lock, once
-- ARGV[7] lease     ms, of the new owner
-- ARGV[8] ticket    of its waiter
-- ARGV[9] lined     1: Redis has confirmed that the ticket was in the line
-- ARGV[10] wait     ms that each in the line adds to the scores of those behind
-- ARGV[i] from 11: tickets of the client that are new in the line, in their order
--
-- Replies {2, 0} freed, {2, 1} freed and the epoch could not be set; {1, token} handed over; {0, 0} or {0, 1} `from` did not hold
-- the lock; {-1} stale.
--
-- Twice: the second run finds `to` as the holder and answers as the first did, or finds neither. Late: stale once a
-- later command has set the epoch. Without a next waiter it needs no memory, so it works when Redis is full.

local lock, epoch, queue, timeouts, line, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local from, channel, how, to, ticket = ARGV[1], ARGV[4], ARGV[5], ARGV[6], ARGV[8]

local held = redis.call('HMGET', lock, from, to or '')
local mark = redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[2]) then
  return {-1}
end
local waiting, forgotten = redis.call('EXISTS', queue) == 1, 0
if ARGV[3] ~= '0' then
  -- pcall: a full Redis refuses SET, and must not refuse the release. A hand-off it may refuse.
  local set = redis.pcall('SET', epoch, ARGV[2], 'PX', ARGV[3])
  if set.err and to then
    return set
  end
  forgotten = set.err and 1 or 0
end
if not held[1] and not held[2] then
  return {0, forgotten}
end

if to then
  local until_ms = now_ms() + math.max(0, redis.call('PTTL', lock))
  for i = 11, #ARGV do
    if not placed(queue, timeouts, ARGV[i]) then
      join(queue, timeouts, ARGV[i], until_ms, ARGV[10])
      waiting = true
    end
  end
end
redis.pcall('HDEL', line, 'absent')
local dropped = to and ARGV[9] == '1' and not redis.call('ZSCORE', timeouts, ticket)
local head = waiting and not held[2] and not dropped and heads(queue, timeouts, line, ticket, channel, how)
if not to or head and head ~= ticket then
  -- HDEL and not DEL: a field of another owner, should there be one, stays. It tells the first when it goes.
  redis.call('HDEL', lock, from)
  return {2, forgotten}
end

local issued = 0
if token then
  issued = raise(token, tonumber(redis.call('GET', token) or '0'))
end
if held[1] and from ~= to then
  redis.call('HSET', lock, to, '1')
  local expiry = redis.pcall('PEXPIRE', lock, ARGV[7])
  if type(expiry) == 'table' then
    redis.call('HDEL', lock, to)
    return expiry
  end
  redis.call('HDEL', lock, from)
end
take(queue, timeouts, line, ticket)
return {1, issued}
