# SPDX-License-Identifier: BSD-3-Clause
# Fish completion for the program that this file is named after. See glb.bash for what the programs print.
function __glb_complete
    set -l words (commandline -opc) (commandline -ct)
    for line in ($words[1] --complete $words[2..-1] 2>/dev/null)
        if string match -q \t'*' -- $line
            __fish_complete_suffix (string sub -s 2 -- $line)
        else
            printf '%s\n' $line
        end
    end
end
complete -c (string replace -r '\.fish$' '' (status basename)) -f -a '(__glb_complete)'
