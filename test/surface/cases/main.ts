/** `node main.ts <backend> <file>`: runs the cases of a backend and writes what they used into the file. */
import { writeFile } from 'node:fs/promises'
import type { Backend } from './backend.ts'
import { runEach } from './run-each.ts'

const [, , name = '', output = ''] = process.argv
const { open }: { open(): Promise<Backend> } = await import(`./backends/${name}.ts`)
await writeFile(output, JSON.stringify(await runEach(await open())))
