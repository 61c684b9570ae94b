import { pathToFileURL } from 'node:url'
import { describeTorture } from '../processes/describe-torture.ts'

describeTorture('file', { url: ({ directory }) => pathToFileURL(`${directory}/leases`).href, ttl: 1000 })
