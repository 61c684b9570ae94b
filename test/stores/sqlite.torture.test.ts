import { tortureFiles } from '../processes/torture.ts'

tortureFiles('sqlite', { address: (directory) => `sqlite:${directory}/leases.db` })
