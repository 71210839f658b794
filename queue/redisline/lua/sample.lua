-- sample.lua: the scores of some ranks of a line, about 1 % of the rank apart, for positions shown far from the head.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- ARGV[1]  now_us  '' = the store's clock; else a virtual one (tests)
-- ARGV[2]  dense   the rank behind which samples begin, integer
-- Returns  {header, now_ms, people waiting, scores}: those of the ranks of queue.SampleRanks behind dense, in order
-- Cost     O(k log N): k = 100 ln(N / dense) samples, 620 of 1,000,000 behind 2,000
-- Why one script: hundreds of commands a second for each node are dearer than one, and the samples are of one instant.

local now_us = clock(ARGV[1])
local q = load()
local dense, scores = tonumber(ARGV[2]), {}
local waiting = call('ZCARD', K.waiting)

local function sample(rank) scores[#scores + 1] = call('ZRANGE', K.waiting, rank - 1, rank - 1, 'WITHSCORES')[2] end

if waiting > dense then
  local rank = dense + max(floor(dense / 100), 1)
  while rank < waiting do
    sample(rank)
    rank = rank + max(floor(rank / 100), 1)
  end
  sample(waiting)
end
return { header(q), floor(now_us / 1000), waiting, scores }
