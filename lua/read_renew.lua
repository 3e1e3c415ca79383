-- read_renew: extends the lease of many readers at once, or keeps the locks alive for as long as their leases.
-- (renew extends the leases of all other owners.)
--
-- KEYS[2*i]   lock   hash: mode -> read or write, owner -> hold count
-- KEYS[2*i-1] marker string: the owner lives; its TTL is the lease
-- ARGV[1]     lease  ms that lock and marker shall live at least: a longer TTL stays; 0: the lock shall live as long
--                    as the marker. Redisson's watchdog sets the lock's TTL to its own lease, and other readers' leases may be longer
-- ARGV[i+1]   owner  of KEYS[2*i]
--
-- Replies one number a reader: 1 renewed, 0 the owner does not read, -1 refused;
-- then, if any was refused, the text of the first refusal.
--
-- A marker that is gone is set again: while the field is there, no writer has entered. With lease 0 it stays
-- gone: the reader's time is over.
--
-- Twice or late: extends a lease that is still the owner's, nothing else.

local lease = tonumber(ARGV[1])
local replies, refusal = {}, nil

for i = 1, #KEYS / 2 do
  local lock, marker = KEYS[2*i], KEYS[2*i-1]
  -- pcall: one key that was overwritten with another type must not cost the
  -- other locks of the batch their renewal.
  local held, wanted = redis.pcall('HEXISTS', lock, ARGV[i+1]), lease
  if held == 1 then
    local left = redis.pcall('PTTL', marker)
    if type(left) == 'table' then
      held = left
    elseif lease == 0 then
      wanted = left
    elseif left < lease then
      local set = redis.pcall('SET', marker, '1', 'PX', lease)
      held = set.err and set or 1
    end
  end
  if held == 1 and redis.call('PTTL', lock) < wanted then
    held = redis.pcall('PEXPIRE', lock, wanted)
  end
  if type(held) == 'table' then
    if string.find(held.err, 'WRONGTYPE', 1, true) then
      held = 0
    else
      refusal = refusal or held.err
      held = -1
    end
  end
  replies[i] = held
end
if refusal then
  replies[#replies + 1] = refusal
end
return replies
