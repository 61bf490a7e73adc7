# SPDX-License-Identifier: BSD-3-Clause
# Bash completion for all programs of GLB Director. The programs answer `PROGRAM --complete WORD...` from their own tables of
# options: a line is a word and its help, or a TAB and the ending of file names.
_glb_complete()
{
	local word=${COMP_WORDS[COMP_CWORD]} line quoted words=() files=() endings=()

	[[ $word != = ]] || word=
	while IFS= read -r line; do
		if [[ $line == $'\t'* ]]; then
			endings+=("${line#$'\t'}")
			continue
		fi
		line=${line%%$'\t'*}
		# A table may be named "a b" or '$(command)'. Bash inserts words as they are, so they must be quoted.
		printf -v quoted %q "$line"
		[[ $line != "$word"* && $quoted != "$word"* ]] || words+=("$quoted")
	done < <("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
	if [[ ${#endings[@]} -gt 0 ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t files < <({ for line in "${endings[@]}"; do compgen -f -X "!*$line" -- "$word"; done; compgen -d -- "$word"; } | sort -u)
	fi
	COMPREPLY=("${words[@]}" "${files[@]}")
}
complete -F _glb_complete glb-director glb-director-cli glb-healthcheck glb-redirect glb-bifurcate glb-announce
