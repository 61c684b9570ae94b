/** `node read.ts parse|score <file>`: reads a file in one way, and prints how long it took and what it needed. */
import { createReadStream } from 'node:fs'
import { score } from '../../src/telemetry/index-node.ts'

export interface Reading {
  readonly ms: number
  /** Of the processor, whoever else used it meanwhile. */
  readonly cpuMs: number
  readonly peakMiB: number
}

const [way, path = ''] = process.argv.slice(2)
const start = performance.now()
const cpu = process.cpuUsage()
await (way === 'score' ? score({ files: [path] }) : parseLines(path))
const reading: Reading = {
  ms: performance.now() - start,
  cpuMs: (process.cpuUsage(cpu).user + process.cpuUsage(cpu).system) / 1000,
  peakMiB: process.resourceUsage().maxRSS / 1024,
}
console.log(JSON.stringify(reading))

async function parseLines(path: string): Promise<void> {
  let rest = ''
  for await (const chunk of createReadStream(path, { encoding: 'utf8', highWaterMark: 2 ** 18 })) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) JSON.parse(line)
  }
}
