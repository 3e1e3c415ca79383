-- renew: extends the TTL of many locks at once, each for the owner that holds it.
--
-- KEYS[i]     lock   hash: owner -> hold count
-- ARGV[1]     lease  ms the lock shall live at least: a longer TTL stays
-- ARGV[2*i]   owner  of KEYS[i]
-- ARGV[2*i+1] next   of KEYS[i]: the owner to whom the client is handing it over just
--                    now, and who may have it already; '' if there is none
--
-- Replies one number a key: 1 renewed, 0 the owner does not hold it, -1 refused;
-- then, if any was refused, the text of the first refusal.
--
-- Twice or late: extends a lock that is still the owner's, nothing else.

local lease = tonumber(ARGV[1])
local replies, refusal = {}, nil

for i, lock in ipairs(KEYS) do
  -- pcall: one key that was overwritten with another type must not cost the
  -- other locks of the batch their renewal.
  local held = redis.pcall('HEXISTS', lock, ARGV[2 * i])
  if held == 0 and ARGV[2 * i + 1] ~= '' then
    held = redis.pcall('HEXISTS', lock, ARGV[2 * i + 1])
  end
  if held == 1 and redis.call('PTTL', lock) < lease then
    held = redis.pcall('PEXPIRE', lock, lease)
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
