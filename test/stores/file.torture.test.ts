import { pathToFileURL } from 'node:url'
import { tortureFiles } from '../processes/torture.ts'

tortureFiles('file', {
  address: (directory) => pathToFileURL(`${directory}/leases`).href,
  supports: { queue: false },
  ttl: 1000,
})
