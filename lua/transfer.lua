-- transfer: hands the lock over from one owner of a client to the next waiting
-- owner of the same client, without freeing it in between.
--
-- KEYS[1] lock     hash: owner -> hold count
-- KEYS[2] epoch    string: commands of this client numbered below it are stale
-- KEYS[3] waiters  sorted set: client -> arrival in microseconds of Redis' clock
-- KEYS[4] token    string: fencing counter; only when the lock has fencing
-- ARGV[1] from     owner that lets go
-- ARGV[2] to       owner that is to hold the lock, once
-- ARGV[3] lease    ms, of the new owner
-- ARGV[4] number   of this command; rises with every command of the client
-- ARGV[5] epoch    ms to remember `number` as the epoch; 0: do not
-- ARGV[6] channel  of the lock
-- ARGV[7] how      to pass the lock on (redisson)
--
-- Replies {1, token, others, redisson_waiters} handed over: others is how many clients wait
-- in the registry, redisson_waiters how many of Redisson wait, -1 if that cannot be told;
-- {0} `from` did not hold the lock; {-1} stale.
--
-- Twice: the second run finds `to` as the holder and answers as the first did, with
-- a higher token. Late: stale once a later command has set the epoch.

local lock, epoch, waiters, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local from, to = ARGV[1], ARGV[2]

local held = redis.call('HMGET', lock, from, to)
local mark = redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[4]) then
  return {-1}
end
if ARGV[5] ~= '0' then
  redis.call('SET', epoch, ARGV[4], 'PX', ARGV[5])
end
if not held[1] and not held[2] then
  return {0}
end

local issued = 0
if token then
  issued = raise(token, tonumber(redis.call('GET', token) or '0'))
end
if held[1] then
  redis.call('HSET', lock, to, '1')
  local expiry = redis.pcall('PEXPIRE', lock, ARGV[3])
  if type(expiry) == 'table' then
    redis.call('HDEL', lock, to)
    return expiry
  end
  redis.call('HDEL', lock, from)
end
local others = redis.pcall('ZCARD', waiters)
others = type(others) == 'number' and others or 0
local publish, _, _, counted = passing(ARGV[7])
local waiting = counted and redisson_waiters(ARGV[6], publish) or -1
return {1, issued, others, waiting}
