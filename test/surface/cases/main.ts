/** `node main.ts <backend> <file>`: runs the cases of a backend and writes what they used into the file. */
import { writeFile } from 'node:fs/promises'
import type { Recorder } from '../recorder.ts'
import type { Backend } from './backend.ts'

declare const holdfastRecorder: Recorder

const [, , name = '', output = ''] = process.argv
const { open }: { open(): Promise<Backend> } = await import(`./backends/${name}.ts`)
const failures: Record<string, string> = {}
const backend = await open()
for (const [part, run] of Object.entries(backend.cases)) {
  try {
    await run()
  } catch (error) {
    failures[part] = error instanceof Error ? String(error.stack) : String(error)
  }
}
await backend[Symbol.asyncDispose]()

const { calls, defaults, options, absent } = holdfastRecorder
const usage = { calls: [...calls], defaults: [...defaults], options: [...options], absent: [...absent] }
await writeFile(output, JSON.stringify({ failures, ...usage }))
