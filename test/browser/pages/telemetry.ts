import { createCollector, httpSink, opfsBuffer } from '../../../src/telemetry/index.ts'

const collector = createCollector({
  sinks: [httpSink('/telemetry', { buffer: opfsBuffer({ maxBytes: 100_000 }) })],
  interval: 3_600_000,
  reveal: ['owner'],
})
const listen = collector.listen('project')

export const scenarios = {
  async tell(types: readonly string[], owner = 'Mika') {
    for (const event of types.map((type) => ({ type, owner }))) listen(event)
    await collector.flush()
    return collector.dropped
  },

  /** Cuts the last line off in the middle. */
  async tear() {
    const root = await navigator.storage.getDirectory()
    const folder = await root.getDirectoryHandle('holdfast-telemetry')
    const file = await folder.getFileHandle('waiting.jsonl')
    const writable = await file.createWritable({ keepExistingData: true })
    await writable.truncate((await file.getFile()).size - 20)
    await writable.close()
  },

  /** What waits in the origin private file system. */
  async waiting() {
    const root = await navigator.storage.getDirectory()
    const names: string[] = []
    for await (const name of root.keys()) names.push(name)
    const folder = await root.getDirectoryHandle('holdfast-telemetry', { create: true })
    const file = await (await folder.getFileHandle('waiting.jsonl', { create: true })).getFile()
    const lines = (await file.text()).split('\n').filter((line) => line !== '')
    return { names, bytes: file.size, types: lines.map((line) => JSON.parse(line).type as string) }
  },
}

Object.assign(globalThis, { scenarios })
