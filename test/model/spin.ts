import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { executable, obtain, run, type Tool } from '../../scripts/services/tools.ts'

const TOOLS: readonly Tool<string>[] = [
  {
    name: 'spin',
    packages: ['spin'],
    advice: 'install the model checker Spin.',
    find: async () => executable('spin'),
  },
  {
    name: 'gcc',
    packages: ['gcc', 'libc6-dev'],
    advice: 'install gcc with the headers of the C library.',
    find: async () => executable('gcc'),
  },
]

/** The longest way from the first state, in steps. */
const DEPTH = 100_000

export interface Verdict {
  /** How many different states there are. */
  readonly states: number
  /** `null`: no order of the steps breaks a rule. Otherwise the shortest one that does, a line for each step. */
  readonly story: readonly string[] | null
}

/** Visits every state of a model. `defines`: such as `BARGING` or `SHARES=1,3,3`. */
export async function verify(model: string, ...defines: string[]): Promise<Verdict> {
  const [spin = '', gcc = ''] = await obtain(TOOLS)
  const cwd = await mkdtemp(join(tmpdir(), 'holdfast-model-'))
  try {
    const flags = defines.map((define) => `-D${define}`)
    await run(spin, ['-a', ...flags, model], { cwd })
    const states = await visitStates(gcc, cwd, '-DCOLLAPSE')
    if (states.isKept) return { states: states.count, story: null }
    // Breadth first, which takes longer, finds the shortest story.
    await visitStates(gcc, cwd, '-DBFS')
    const trail = `${basename(model)}.trail`
    const told = await run(spin, ['-t', '-T', ...flags, '-k', trail, model], { cwd })
    return { states: states.count, story: told.stdout.split('\n').filter(isStep) }
  } finally {
    await rm(cwd, { recursive: true })
  }
}

async function visitStates(gcc: string, cwd: string, search: string) {
  await run(gcc, ['-w', '-O1', '-DSAFETY', search, '-o', 'pan', 'pan.c'], { cwd })
  const { stdout } = await run('./pan', [`-m${DEPTH}`], { cwd })
  const [, count] = /^\s*([\d.e+]+) states, stored/m.exec(stdout) ?? []
  const [, errors] = /errors: (\d+)/.exec(stdout) ?? []
  const isWhole = !/max search depth too small|out of memory/.test(stdout)
  if (count === undefined || errors === undefined || !isWhole)
    throw new Error(`Spin has not visited every state:\n${stdout}`)
  return { count: Number(count), isKept: errors === '0' }
}

/** What a model prints, and not what Spin says about it. */
function isStep(line: string): boolean {
  return /^(client|the|it|text) /.test(line)
}
