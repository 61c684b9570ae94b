import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describeScenarios, storeAt } from './describe-scenarios.ts'

describeScenarios(
  'the file store',
  storeAt((directory) => pathToFileURL(join(directory, 'leases')).href),
)
