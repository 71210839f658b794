-- mends.lua: lets go of keys of an item that are not what a line writes, for the scripts that mend; it stands between
-- prelude.lua and them.

local KINDS = { 'zset', 'zset', 'zset', 'string', 'hash', 'hash', 'hash', 'hash', 'hash', 'hash', 'hash' } -- of KEYS[1..11]
local QUEUE, LINE = 4, 8                                                                                  -- the queue; what belongs to the line itself

-- Whether the queue is none or one that `load` reads.
local function queue_is_sound()
  local kind = call('TYPE', K.queue).ok
  if kind == 'none' then return true end
  if kind ~= 'string' then return false end
  local ok, kept = pcall(cmsgpack.unpack, call('GET', K.queue))
  return ok and type(kept) == 'table' and type(kept.state) == 'string'
end

-- Unlinks the keys of the wrong type, but for the queue, and answers whether the line itself has lost something.
local function mend()
  local lost = false
  for i, kind in ipairs(KINDS) do
    local found = call('TYPE', KEYS[i]).ok
    if i ~= QUEUE and found ~= 'none' and found ~= kind then
      call('UNLINK', KEYS[i])
      lost = lost or i <= LINE
    end
  end
  return lost
end
