import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { root } from '../../scripts/run-tool.ts'
import { serverNames, startServices, variableOf } from '../../scripts/services/index.ts'

/** Tests start hundreds of processes. Half of their processor time went into compiling the same sources. */
const { NODE_COMPILE_CACHE = join(root, 'node_modules/.cache/node-compile') } = process.env

/** A test file gets the servers whose environment variables it names; others are not started. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const sources = project.vitest.state.getPaths().map((path) => readFileSync(path, 'utf8'))
  const needed = serverNames.filter((name) => sources.some((source) => source.includes(variableOf(name))))
  const services = await startServices(needed)
  for (const line of services.report) console.log(line)
  Object.assign(process.env, services.environment, { NODE_COMPILE_CACHE })
  return async () => services[Symbol.asyncDispose]()
}
