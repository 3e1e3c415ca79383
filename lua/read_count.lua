-- read_count: sets the hold count of a reader, for re-entry and for the release of an inner hold. (count does so
-- for a writer.)
--
-- KEYS[1] lock    hash: mode -> read or write, owner -> hold count
-- KEYS[2] epoch   string: commands of this client numbered below it are stale
-- KEYS[3] marker  string: the owner lives; its TTL is the lease
-- ARGV[1] owner   hash field of the reader
-- ARGV[2] count   wanted, 1 or more: not an increment, so that a resent command
--                 counts once
-- ARGV[3] lease   ms that the lock and the marker shall live at least; 0: leave their TTL
-- ARGV[4] number  of this command; rises with every command of the client
-- ARGV[5] epoch   ms to remember `number` as the epoch; 0: do not
--
-- Replies {1} set; {0} the owner does not read; {-1} stale.
--
-- Twice: sets the same count again. Late: stale, or the count is put right by
-- the next command of the owner; a released lock is never made anew.

local lock, epoch, marker = KEYS[1], KEYS[2], KEYS[3]

local held = redis.call('HEXISTS', lock, ARGV[1])
local mark = redis.call('GET', epoch)
if mark and tonumber(mark) > tonumber(ARGV[4]) then
  return {-1}
end
if ARGV[5] ~= '0' then
  redis.call('SET', epoch, ARGV[4], 'PX', ARGV[5])
end
if held == 0 then
  return {0}
end
local lease = tonumber(ARGV[3])
if lease > 0 and redis.call('PTTL', marker) < lease then
  redis.call('SET', marker, '1', 'PX', lease)
end
if lease > 0 and redis.call('PTTL', lock) < lease then
  redis.call('PEXPIRE', lock, lease)
end
redis.call('HSET', lock, ARGV[1], ARGV[2])
return {1}
