-- rw_inspect: reads one side of a read-write lock, at one instant and from the master.
--
-- KEYS[1] lock    hash: mode -> read or write, owner -> hold count
-- KEYS[2] marker  of the owner, if it is a reader: string, lives as long as its lease
-- ARGV[1] owner  whose hold count is wanted
-- ARGV[2] mode   read or write: the side
--
-- Replies {ttl, count, holder}: ttl in ms, -1 without one, -2 when the side is
-- free; count of the owner, 0 if it holds nothing; holder '' when free. During a write hold the
-- reading side is held if the writer reads. A reader whose marker is gone holds nothing, though other
-- readers keep the hash, and its field in it, from expiring.

local lock = KEYS[1]

local mode = layout(lock)
if not mode then
  return {-2, 0, ''}
end
for _, field in ipairs(redis.call('HKEYS', lock)) do
  if field ~= 'mode' and is_reader(field) == (ARGV[2] == 'read') then
    local count = tonumber(redis.call('HGET', lock, ARGV[1]) or '0')
    if count > 0 and KEYS[2] and redis.call('EXISTS', KEYS[2]) == 0 then
      count = 0
    end
    return {redis.call('PTTL', lock), count, field}
  end
end
return {-2, 0, ''}
